//! Mutual TLS 1.3 between nodes: a node's Ed25519 key is its identity, so both sides check the key itself and nothing else.
//!
//! Certificates are self-signed wrappers around that key. Names, dates and chains in them are ignored on purpose: whom to trust is
//! said by the ticket (or by the pinned key of a hub), never by a certificate authority.

use std::fmt;
use std::sync::Arc;

use headrace_core::sealed::{PublicKey, SigningKey};
pub use rustls::ClientConfig;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, aws_lc_rs, verify_tls13_signature,
};
pub use rustls::pki_types::ServerName;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{
    AlertDescription, CertificateError, DigitallySignedStruct, DistinguishedName, PeerIncompatible,
    ServerConfig, SignatureScheme,
};
use thiserror::Error;

/// ALPN of data connections between nodes.
pub const ALPN_DATA: &[u8] = b"headrace-data/1";
/// ALPN of control connections (gRPC).
pub const ALPN_CONTROL: &[u8] = b"h2";

/// The name sent to no one: rustls asks for one, server name indication is off and the name is not checked.
const PEER_NAME: &str = "node.headrace.invalid";
/// A certificate longer than this is refused unread; ours have about 300 bytes.
const MAX_CERTIFICATE_BYTES: usize = 4096;

/// A node's key as TLS needs it: the private key and the certificate that carries its public half.
pub struct Identity {
    public: PublicKey,
    key: PrivatePkcs8KeyDer<'static>,
    certificate: CertificateDer<'static>,
}

impl Identity {
    /// Build the identity of this key.
    ///
    /// # Errors
    /// [`TlsError::Identity`] when the certificate cannot be made.
    pub fn new(key: &SigningKey) -> Result<Self, TlsError> {
        let key = PrivatePkcs8KeyDer::from(key.pkcs8());
        let pair = rcgen::KeyPair::from_pkcs8_der_and_sign_algo(&key, &rcgen::PKCS_ED25519)?;
        let certificate = rcgen::CertificateParams::new(Vec::new())?.self_signed(&pair)?;
        let certificate = certificate.der().clone();
        let public = certificate_key(&certificate).map_err(TlsError::Rustls)?;
        Ok(Self {
            public,
            key,
            certificate,
        })
    }

    /// The public key: this is who the node is.
    #[must_use]
    pub fn public_key(&self) -> PublicKey {
        self.public
    }

    fn chain(&self) -> Vec<CertificateDer<'static>> {
        vec![self.certificate.clone()]
    }

    fn private_key(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::Pkcs8(self.key.clone_key())
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Identity")
            .field("public", &self.public)
            .finish_non_exhaustive()
    }
}

/// Whether a server goes on with a peer that proved to hold this key.
pub type AllowKey = dyn Fn(&PublicKey) -> bool + Send + Sync;

/// TLS settings of the side that dials: it accepts a server with exactly the key `expected_peer`.
///
/// # Errors
/// [`TlsError::Rustls`] when rustls refuses the identity.
pub fn client_config(
    identity: &Identity,
    expected_peer: PublicKey,
    alpn: &[u8],
) -> Result<Arc<ClientConfig>, TlsError> {
    client_config_with(provider(), identity, expected_peer, alpn)
}

/// As [`client_config`], with other cryptography than ours.
pub(crate) fn client_config_with(
    provider: Arc<CryptoProvider>,
    identity: &Identity,
    expected_peer: PublicKey,
    alpn: &[u8],
) -> Result<Arc<ClientConfig>, TlsError> {
    let verifier = PinnedServer {
        expected: expected_peer,
        algorithms: provider.signature_verification_algorithms,
    };
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_client_auth_cert(identity.chain(), identity.private_key())?;
    config.alpn_protocols = vec![alpn.to_vec()];
    config.enable_sni = false;
    config.resumption = rustls::client::Resumption::disabled();
    Ok(Arc::new(config))
}

/// TLS settings of the side that listens: a client must prove a key for which `allow` says yes.
///
/// # Errors
/// [`TlsError::Rustls`] when rustls refuses the identity.
pub fn server_config(
    identity: &Identity,
    allow: Arc<AllowKey>,
    alpn: &[u8],
) -> Result<Arc<ServerConfig>, TlsError> {
    server_config_of(std::slice::from_ref(identity), allow, alpn)
}

/// As [`server_config`], of a side with several keys: it shows the first, and another one to a client that asks for that by name.
///
/// # Errors
/// [`TlsError::Rustls`] when rustls refuses an identity.
pub fn server_config_of(
    identities: &[Identity],
    allow: Arc<AllowKey>,
    alpn: &[u8],
) -> Result<Arc<ServerConfig>, TlsError> {
    let provider = provider();
    let certified = |identity: &Identity| {
        let key = CertifiedKey::from_der(identity.chain(), identity.private_key(), &provider)?;
        Ok::<_, rustls::Error>((name_of(identity.public), Arc::new(key)))
    };
    let shown = Shown(identities.iter().map(certified).collect::<Result<_, _>>()?);
    let verifier = CheckedClient {
        allow,
        algorithms: provider.signature_verification_algorithms,
    };
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_client_cert_verifier(Arc::new(verifier))
        .with_cert_resolver(Arc::new(shown));
    config.alpn_protocols = vec![alpn.to_vec()];
    // Data streams are one-way after the handshake: a ticket nobody reads would only sit in the socket.
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}

/// The server name to give rustls when dialling a node; it is neither sent nor checked.
///
/// # Panics
/// Never: the name is a constant that parses.
#[must_use]
#[expect(clippy::expect_used, reason = "a constant that parses")]
pub fn peer_name() -> ServerName<'static> {
    ServerName::try_from(PEER_NAME).expect("a constant DNS name")
}

/// The name by which a client asks for a key of a side that has several: the first half of the key.
///
/// # Panics
/// Never: 32 hexadecimal digits are a label of a name.
#[must_use]
#[expect(
    clippy::expect_used,
    reason = "32 hexadecimal digits and a constant that parses"
)]
pub fn name_of(key: PublicKey) -> ServerName<'static> {
    let mut half = [0; 16];
    half.copy_from_slice(&key.as_bytes()[..16]);
    let half = u128::from_be_bytes(half);
    ServerName::try_from(format!("{half:032x}.key.headrace.invalid")).expect("a DNS name")
}

/// The same settings for a client that says by [`name_of`] which key it asks for.
#[must_use]
pub fn asking_by_name(config: &ClientConfig) -> Arc<ClientConfig> {
    let mut config = config.clone();
    config.enable_sni = true;
    Arc::new(config)
}

/// The key that a peer proved in the handshake, from the certificates rustls kept.
///
/// # Errors
/// [`TlsError::NoPeerKey`] before the end of the handshake.
pub fn peer_key(certificates: Option<&[CertificateDer<'_>]>) -> Result<PublicKey, TlsError> {
    match certificates {
        Some([certificate, ..]) => Ok(certificate_key(certificate)?),
        _ => Err(TlsError::NoPeerKey),
    }
}

/// Whether a handshake failed because the peer holds another key than the expected one.
#[must_use]
pub fn is_wrong_key(error: &rustls::Error) -> bool {
    matches!(
        error,
        rustls::Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure)
    )
}

/// Whether a handshake failed because the peer expects another key than ours.
#[must_use]
pub fn is_own_key_refused(error: &rustls::Error) -> bool {
    matches!(
        error,
        rustls::Error::AlertReceived(AlertDescription::AccessDenied)
    )
}

fn provider() -> Arc<CryptoProvider> {
    let mut provider = aws_lc_rs::default_provider();
    // AES-GCM first: it is four times as fast as ChaCha20 wherever the processor has AES instructions.
    provider.cipher_suites = vec![
        aws_lc_rs::cipher_suite::TLS13_AES_256_GCM_SHA384,
        aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256,
        aws_lc_rs::cipher_suite::TLS13_CHACHA20_POLY1305_SHA256,
    ];
    // First one that a later quantum computer does not break either: what is recorded today may be of interest for decades.
    provider.kx_groups = vec![
        aws_lc_rs::kx_group::X25519MLKEM768,
        aws_lc_rs::kx_group::X25519,
    ];
    Arc::new(provider)
}

fn certificate_key(certificate: &CertificateDer<'_>) -> Result<PublicKey, rustls::Error> {
    let malformed = || rustls::Error::InvalidCertificate(CertificateError::BadEncoding);
    if certificate.len() > MAX_CERTIFICATE_BYTES {
        return Err(malformed());
    }
    let (rest, parsed) =
        x509_parser::parse_x509_certificate(certificate).map_err(|_| malformed())?;
    let info = parsed.public_key();
    if !rest.is_empty() || info.algorithm.algorithm != x509_parser::oid_registry::OID_SIG_ED25519 {
        return Err(malformed());
    }
    let bytes: [u8; 32] = info
        .subject_public_key
        .data
        .as_ref()
        .try_into()
        .map_err(|_| malformed())?;
    Ok(PublicKey::from_bytes(bytes))
}

fn wrong_key() -> rustls::Error {
    rustls::Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure)
}

fn no_tls12<T>() -> Result<T, rustls::Error> {
    Err(rustls::Error::PeerIncompatible(
        PeerIncompatible::Tls13RequiredForQuic,
    ))
}

/// The keys that a server may show, by name; the first is for who asks for none, or for one that is not here.
#[derive(Debug)]
struct Shown(Vec<(ServerName<'static>, Arc<CertifiedKey>)>);

impl ResolvesServerCert for Shown {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let asked = |(name, _): &&(ServerName<'static>, _)| {
            Some(name.to_str().as_ref()) == hello.server_name()
        };
        let shown = self.0.iter().find(asked).or(self.0.first());
        shown.map(|(_, key)| Arc::clone(key))
    }
}

#[derive(Debug)]
struct PinnedServer {
    expected: PublicKey,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for PinnedServer {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if certificate_key(end_entity)? == self.expected {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(wrong_key())
        }
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        no_tls12()
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }
}

struct CheckedClient {
    allow: Arc<AllowKey>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl fmt::Debug for CheckedClient {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("CheckedClient")
    }
}

impl ClientCertVerifier for CheckedClient {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        if (self.allow)(&certificate_key(end_entity)?) {
            Ok(ClientCertVerified::assertion())
        } else {
            Err(wrong_key())
        }
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        no_tls12()
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }
}

/// Why TLS could not be set up, or a peer's key not be told.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TlsError {
    /// The node's own certificate could not be made.
    #[error("cannot make the node's certificate: {0}")]
    Identity(#[from] rcgen::Error),
    /// rustls refused a setting, a certificate or a handshake.
    #[error("TLS: {0}")]
    Rustls(#[from] rustls::Error),
    /// The peer has not shown a certificate (yet).
    #[error("the peer has shown no key")]
    NoPeerKey,
}

#[cfg(test)]
mod tests {
    use rustls::{ClientConnection, ServerConnection};

    use super::*;

    fn identity(seed: u8) -> Identity {
        Identity::new(&SigningKey::from_seed(&[seed; 32])).expect("an identity")
    }

    /// Shake hands in memory: the first error of either side, or both connections.
    fn shake(
        client: Arc<ClientConfig>,
        server: Arc<ServerConfig>,
    ) -> Result<(ClientConnection, ServerConnection), rustls::Error> {
        shake_as(client, peer_name(), server)
    }

    /// As [`shake`], of a client that gives this name.
    fn shake_as(
        client: Arc<ClientConfig>,
        name: ServerName<'static>,
        server: Arc<ServerConfig>,
    ) -> Result<(ClientConnection, ServerConnection), rustls::Error> {
        let mut client = ClientConnection::new(client, name)?;
        let mut server = ServerConnection::new(server)?;
        for _ in 0..10 {
            let mut wire = Vec::new();
            client.write_tls(&mut wire).expect("memory");
            server.read_tls(&mut &wire[..]).expect("memory");
            server.process_new_packets()?;
            wire.clear();
            server.write_tls(&mut wire).expect("memory");
            client.read_tls(&mut &wire[..]).expect("memory");
            client.process_new_packets()?;
        }
        assert!(!client.is_handshaking() && !server.is_handshaking());
        Ok((client, server))
    }

    fn allowing(key: PublicKey) -> Arc<AllowKey> {
        Arc::new(move |shown: &PublicKey| *shown == key)
    }

    #[test]
    fn both_sides_learn_the_key_the_other_proved() {
        let (here, there) = (identity(1), identity(2));
        let client = client_config(&here, there.public_key(), ALPN_DATA).expect("settings");
        let server =
            server_config(&there, allowing(here.public_key()), ALPN_DATA).expect("settings");
        let (client, server) = shake(client, server).expect("a handshake");
        assert_eq!(
            peer_key(client.peer_certificates()).expect("a key"),
            there.public_key()
        );
        assert_eq!(
            peer_key(server.peer_certificates()).expect("a key"),
            here.public_key()
        );
        assert_eq!(client.alpn_protocol(), Some(ALPN_DATA));
        assert_eq!(
            client.protocol_version(),
            Some(rustls::ProtocolVersion::TLSv1_3)
        );
        let suite = client.negotiated_cipher_suite().map(|suite| suite.suite());
        assert_eq!(suite, Some(rustls::CipherSuite::TLS13_AES_256_GCM_SHA384));
    }

    #[test]
    fn a_server_with_another_key_is_refused_by_the_client() {
        let (here, there, other) = (identity(1), identity(2), identity(3));
        let client = client_config(&here, other.public_key(), ALPN_DATA).expect("settings");
        let server =
            server_config(&there, allowing(here.public_key()), ALPN_DATA).expect("settings");
        assert!(is_wrong_key(&shake(client, server).expect_err("refused")));
    }

    #[test]
    fn a_server_with_two_keys_shows_the_second_to_who_asks_for_it() {
        let (here, first, second, other) = (identity(1), identity(2), identity(3), identity(4));
        let keys = [first, second];
        let [first, second] = &keys;
        let shaken = |expected: PublicKey, by_name: bool| {
            let mut client = client_config(&here, expected, ALPN_CONTROL).expect("settings");
            let mut name = peer_name();
            if by_name {
                (client, name) = (asking_by_name(&client), name_of(expected));
            }
            let server = server_config_of(&keys, allowing(here.public_key()), ALPN_CONTROL);
            shake_as(client, name, server.expect("settings")).is_ok()
        };
        assert!(shaken(first.public_key(), false) && shaken(first.public_key(), true));
        assert!(!shaken(second.public_key(), false) && shaken(second.public_key(), true));
        assert!(!shaken(other.public_key(), true));
    }

    #[test]
    fn a_client_with_another_key_is_refused_by_the_server() {
        let (here, there, other) = (identity(1), identity(2), identity(3));
        let client = client_config(&here, there.public_key(), ALPN_DATA).expect("settings");
        let server =
            server_config(&there, allowing(other.public_key()), ALPN_DATA).expect("settings");
        assert!(is_wrong_key(&shake(client, server).expect_err("refused")));
    }

    #[test]
    fn a_stolen_certificate_is_useless_without_its_key() {
        let (here, there) = (identity(1), identity(2));
        let thief = Identity {
            public: here.public,
            key: identity(3).key,
            certificate: here.certificate.clone(),
        };
        let server =
            server_config(&there, allowing(here.public_key()), ALPN_DATA).expect("settings");
        // rustls itself refuses a key that does not belong to the certificate, so the thief cannot even be set up.
        match client_config(&thief, there.public_key(), ALPN_DATA) {
            Ok(client) => assert!(shake(client, server).is_err()),
            Err(error) => assert!(matches!(error, TlsError::Rustls(_))),
        }
    }
}
