"""Certificates for tests, made on the spot and signed by an authority that nobody else trusts."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


class Authority:
    """Signs certificates; `file` is what trusts them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.file = folder, folder / "authority.pem"
        self.key = ec.generate_private_key(ec.SECP256R1())
        found = self._signed("Authority of a test", self.key, authority=True)
        self.file.write_bytes(found.public_bytes(serialization.Encoding.PEM))

    def server(self, host: str) -> ssl.SSLContext:
        """What a server at this host needs to prove who it is."""
        key = ec.generate_private_key(ec.SECP256R1())
        file = self.folder / f"{host}.pem"
        pem = serialization.Encoding.PEM
        form = serialization.PrivateFormat.PKCS8
        secret = key.private_bytes(pem, form, serialization.NoEncryption())
        file.write_bytes(secret + self._signed(host, key, authority=False).public_bytes(pem))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context

    def _signed(
        self, name: str, key: ec.EllipticCurvePrivateKey, *, authority: bool
    ) -> x509.Certificate:
        now, ours = datetime.now(UTC), self.key.public_key()
        usage = dict.fromkeys(
            "content_commitment key_encipherment data_encipherment key_agreement "
            "encipher_only decipher_only".split(),
            False,
        )
        made = (
            x509.CertificateBuilder(_named("Authority of a test"), _named(name), key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.BasicConstraints(authority, None), critical=True)
            .add_extension(
                x509.KeyUsage(
                    digital_signature=True, key_cert_sign=authority, crl_sign=authority, **usage
                ),
                critical=True,
            )
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ours), False)
        )
        if not authority:
            made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), False)
        return made.sign(self.key, hashes.SHA256())
