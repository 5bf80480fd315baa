//! TLS as probes speak it.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, UNIX_EPOCH},
};

use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::{
        Resumption,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime},
};
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client::TlsStream};

use super::Failure;
use crate::model::{HttpsProbe, Trust};

/// The TLS configurations in use: one for all probes that trust the same.
#[derive(Debug, Default)]
pub(super) struct Clients(Mutex<BTreeMap<Trust, Arc<ClientConfig>>>);

impl Clients {
    /// Forgets the configurations for other than these.
    pub(super) fn keep(&self, used: &BTreeSet<&Trust>) {
        let mut clients = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        clients.retain(|trust, _| used.contains(trust));
    }

    /// The configuration for probes that trust these.
    pub(super) fn of(&self, trust: &Trust) -> Result<Arc<ClientConfig>, Failure> {
        let mut clients = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(trust) {
            return Ok(Arc::clone(client));
        }
        let client = client(trust).map_err(|error| Failure::Unsent(error.to_string()))?;
        let client = Arc::new(client);
        clients.insert(trust.clone(), Arc::clone(&client));
        Ok(client)
    }
}

fn client(trust: &Trust) -> Result<ClientConfig, Error> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()?;
    let builder = match trust {
        Trust::Anyone => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Anyone(provider))),
        Trust::Authorities(authorities) => {
            let mut roots = RootCertStore::empty();
            let certificates = authorities.certificates().iter();
            roots.add_parsable_certificates(certificates.map(|der| der.as_slice().into()));
            builder.with_root_certificates(roots)
        }
    };
    let mut client = builder.with_no_client_auth();
    // Each probe is to prove that a whole handshake succeeds.
    client.resumption = Resumption::disabled();
    client.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(client)
}

/// Makes a new TLS session on a connection.
pub(super) async fn handshake(
    stream: TcpStream,
    https: &HttpsProbe,
    client: Arc<ClientConfig>,
) -> Result<TlsStream<TcpStream>, Failure> {
    let name = ServerName::try_from(https.server_name.clone())
        .map_err(|error| Failure::Unsent(format!("{}: {error}", https.server_name)))?;
    let connected = TlsConnector::from(client).connect(name, stream).await;
    connected.map_err(|error| match (cause(&error), error.kind()) {
        (Some(Error::InvalidCertificate(wrong)), _) => Failure::Tls(certificate(wrong, https)),
        (Some(error), _) => Failure::Tls(in_words(error)),
        (None, io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset) => {
            Failure::Tls("closed the connection during the handshake".to_owned())
        }
        (None, _) => Failure::Unreachable(error.to_string()),
    })
}

/// The TLS error behind an error of a TLS stream, if it is one.
pub(super) fn cause(error: &io::Error) -> Option<&Error> {
    error.get_ref()?.downcast_ref()
}

/// What is wrong with the certificate of a backend.
fn certificate(wrong: &CertificateError, https: &HttpsProbe) -> String {
    match wrong {
        CertificateError::ExpiredContext { not_after, .. } => {
            format!("the certificate expired on {}", date(*not_after))
        }
        CertificateError::NotValidYetContext { not_before, .. } => {
            format!("the certificate is not valid before {}", date(*not_before))
        }
        // The second comes of an authority with the name of one that is trusted, and another key.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            let of = match &https.trust {
                Trust::Authorities(authorities) => authorities.file(),
                Trust::Anyone => None,
            };
            let of = of.map_or("this host".to_owned(), |file| file.display().to_string());
            format!("unknown issuer: no authority of {of} vouches for the certificate")
        }
        CertificateError::NotValidForNameContext { presented, .. } => {
            let wanted = &https.server_name;
            match &presented[..] {
                [] => format!("the certificate is for no name, and so not for {wanted}"),
                names => {
                    let names: Vec<_> = names.iter().map(|name| plain(name)).collect();
                    format!(
                        "the certificate is for {}, not for {wanted}",
                        names.join(", ")
                    )
                }
            }
        }
        other => format!("the certificate is not good: {other}"),
    }
}

/// What is wrong with a session in other ways.
pub(super) fn in_words(error: &Error) -> String {
    match error {
        Error::InvalidMessage(_) => "what it says is no TLS".to_owned(),
        Error::AlertReceived(alert) => format!("the backend refused it: {alert:?}"),
        other => other.to_string(),
    }
}

/// The day and time in UTC, to the second.
fn date(time: UnixTime) -> String {
    let time = UNIX_EPOCH.checked_add(Duration::from_secs(time.as_secs()));
    time.map_or("a date beyond all clocks".to_owned(), |time| {
        humantime::format_rfc3339_seconds(time).to_string()
    })
}

/// `DnsName("a.example")` or `IpAddress(192.0.2.1)` without what is around the name.
fn plain(presented: &str) -> &str {
    let inside = presented
        .split_once('(')
        .map_or(presented, |(_, rest)| rest);
    inside.trim_end_matches(')').trim_matches('"')
}

/// Takes every certificate for good. The backend must still have the key that belongs to it.
#[derive(Debug)]
struct Anyone(Arc<CryptoProvider>);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
