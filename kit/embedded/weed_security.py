"""Access control of SeaweedFS's internal ports: keys that only its components know, generated at every start.

Its gRPC ports accept only clients with a certificate of ours, its volumes only requests with a token signed by our
keys. Its master and filer serve no HTTP at all (`-disableHttp`).
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
"""Certificates are made at every start; their validity is long, so that a wrong clock cannot separate components."""


def write_security(folder: Path, path: str) -> None:
    """Write `security.toml` and its certificates. `path` is the folder relative to the program's working folder."""
    folder.mkdir(mode=0o700, exist_ok=True)
    authority, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    write_private(folder / "ca.pem", _encode(_certify("authority", authority, authority)))
    write_private(folder / "cert.pem", _encode(_certify("seaweedfs", key, authority)))
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    write_private(folder / "key.pem", private.decode())
    lines = [f'[{name}]\nkey = "{secrets.token_hex(32)}"\nexpires_after_seconds = 60' for name in TOKENS]
    lines.append(f'[grpc]\nca = "{path}/ca.pem"')
    lines += [f'[grpc.{part}]\ncert = "{path}/cert.pem"\nkey = "{path}/key.pem"' for part in PARTS]
    write_private(folder / "security.toml", "\n".join(lines) + "\n")


def _certify(name: str, key: ec.EllipticCurvePrivateKey, authority: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    builder = (
        x509.CertificateBuilder()
        .subject_name(_make_name(name))
        .issuer_name(_make_name("authority"))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(VALID[0])
        .not_valid_after(VALID[1])
        .add_extension(x509.BasicConstraints(ca=key is authority, path_length=None), critical=True)
    )
    if key is not authority:
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
        names = x509.SubjectAlternativeName([x509.IPAddress(ip_address(LOOPBACK)), x509.DNSName("localhost")])
        builder = builder.add_extension(usage, critical=False).add_extension(names, critical=False)
    return builder.sign(authority, hashes.SHA256())


def _make_name(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _encode(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()
