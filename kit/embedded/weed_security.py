"""What closes SeaweedFS's inner doors: keys that its parts know and nobody else, made anew for every start.

Its gRPC takes only clients with a certificate of ours; its volumes only requests with a token signed by our keys. Its
master and filer speak no HTTP at all then (`-disableHttp`).
"""

from __future__ import annotations

import secrets
from datetime import datetime
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from kit.embedded.files import write_private
from kit.embedded.ports import LOOPBACK

TOKENS = ("jwt.signing", "jwt.signing.read", "jwt.filer_signing", "jwt.filer_signing.read")
PARTS = ("volume", "master", "filer", "s3", "admin", "worker", "msg_broker", "msg_agent", "mq", "client")
VALID = datetime(2020, 1, 1), datetime(2120, 1, 1)
"""They live as long as the server; a clock that is wrong must not keep it from its own parts."""


def write_security(folder: Path, seen_as: str) -> None:
    """Write `security.toml` and its certificates. `seen_as` is the folder as the program's working folder sees it."""
    folder.mkdir(mode=0o700, exist_ok=True)
    authority, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    write_private(folder / "ca.pem", _pem(_certificate("authority", authority, authority)))
    write_private(folder / "cert.pem", _pem(_certificate("seaweedfs", key, authority)))
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    write_private(folder / "key.pem", private.decode())
    lines = [f'[{name}]\nkey = "{secrets.token_hex(32)}"\nexpires_after_seconds = 60' for name in TOKENS]
    lines.append(f'[grpc]\nca = "{seen_as}/ca.pem"')
    lines += [f'[grpc.{part}]\ncert = "{seen_as}/cert.pem"\nkey = "{seen_as}/key.pem"' for part in PARTS]
    write_private(folder / "security.toml", "\n".join(lines) + "\n")


def _certificate(name: str, key: ec.EllipticCurvePrivateKey, authority: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    builder = (
        x509.CertificateBuilder()
        .subject_name(_named(name))
        .issuer_name(_named("authority"))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(VALID[0])
        .not_valid_after(VALID[1])
        .add_extension(x509.BasicConstraints(ca=key is authority, path_length=None), critical=True)
    )
    if key is not authority:
        both = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
        at = x509.SubjectAlternativeName([x509.IPAddress(ip_address(LOOPBACK)), x509.DNSName("localhost")])
        builder = builder.add_extension(both, critical=False).add_extension(at, critical=False)
    return builder.sign(authority, hashes.SHA256())


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()
