#!/bin/sh
# Run a command where nothing outside can be asked, if this user may make such a place; elsewhere run it as it is.
# There are two ends of one wire, since browsers with no interface but loopback call themselves offline.
wire='ip link add name inside type veth peer name outside'
if [ "$(id -u)" = 0 ] && unshare --net $wire 2>/dev/null; then
    exec env WITHOUT_NETWORK=1 unshare --net sh -ec "
        ip link set lo up; $wire; ip link set inside up; ip link set outside up
        ip address add 192.0.2.2/24 dev inside
        exec \"\$@\"" sh "$@"
fi
exec "$@"
