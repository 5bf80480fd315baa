use std::path::Path;

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DnType, IsCa, Issuer, KeyPair, SanType,
    date_time_ymd,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use super::*;
use crate::{
    model::{Authorities, Trust},
    probe::{fixtures, nginx::Nginx},
};

/// More than any good probe here takes.
const AMPLE: Duration = Duration::from_secs(10);

/// An authority, and a key that all its certificates are for.
struct Authority {
    certificate: Certificate,
    issuer: Issuer<'static, KeyPair>,
    key: KeyPair,
}

impl Authority {
    fn new() -> Self {
        Self::called("an authority")
    }

    fn called(name: &str) -> Self {
        let mut parameters = CertificateParams::default();
        let names = &mut parameters.distinguished_name;
        names.push(DnType::CommonName, name);
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = parameters.self_signed(&key).unwrap();
        Self {
            certificate,
            issuer: Issuer::new(parameters, key),
            key: KeyPair::generate().unwrap(),
        }
    }

    /// A certificate (PEM) for these names, after a change to what is usual.
    fn issue(&self, names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> String {
        let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut parameters = CertificateParams::new(names).unwrap();
        change(&mut parameters);
        let certificate = parameters.signed_by(&self.key, &self.issuer).unwrap();
        certificate.pem()
    }

    fn trust(&self) -> Trust {
        let certificates = vec![self.certificate.der().to_vec()];
        Trust::Authorities(Authorities::new(Some(Path::new("/ca.pem")), certificates))
    }

    /// An nginx that shows each of these certificates to those that ask for its name, the first one to
    /// others.
    async fn nginx(&self, certificates: &[(&str, String)]) -> Nginx {
        let key = self.key.serialize_pem();
        let files: Vec<_> = (certificates.iter().enumerate())
            .map(|(i, (_, pem))| (format!("{i}.pem"), pem.as_str()))
            .collect();
        let mut files: Vec<_> = files
            .iter()
            .map(|(name, pem)| (name.as_str(), *pem))
            .collect();
        files.push(("key.pem", &key));
        Nginx::start(&files, |address| {
            let server = |(i, (name, _)): (usize, &(&str, String))| {
                format!(
                    "server {{ listen {address} ssl; server_name {name};
                     ssl_certificate {i}.pem; ssl_certificate_key key.pem;
                     location = /healthz {{ return 200 fine; }} }}\n"
                )
            };
            certificates.iter().enumerate().map(server).collect()
        })
        .await
    }
}

fn https(name: &str, trust: Trust) -> HttpsProbe {
    let mut http = fixtures::head();
    http.host = Some(name.to_owned());
    HttpsProbe {
        http,
        server_name: name.to_owned(),
        trust,
    }
}

async fn outcome(address: SocketAddr, https: &HttpsProbe) -> Result<Duration, Failure> {
    probe(address, https, &Clients::default(), AMPLE).await
}

/// Why there is no TLS with nginx.
#[track_caller]
fn said(outcome: Result<Duration, Failure>) -> String {
    match outcome {
        Err(Failure::Tls(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_certificate_for_the_name_from_a_trusted_authority_is_good() {
    let authority = Authority::new();
    let pem = authority.issue(&["a.example"], |_| {});
    let nginx = authority.nginx(&[("a.example", pem)]).await;
    let mut https = https("a.example", authority.trust());
    let clients = Clients::default();
    // A second session is as whole as the first.
    for _ in 0..2 {
        let outcome = probe(nginx.address, &https, &clients, AMPLE).await;
        assert!(outcome.is_ok(), "{outcome:?}");
    }
    https.http.path = "/missing".to_owned();
    let outcome = outcome(nginx.address, &https).await;
    assert_eq!(outcome, Err(Failure::Status(404)));
}

#[tokio::test]
async fn sni_chooses_among_the_certificates_of_a_server() {
    let authority = Authority::new();
    let [first, second] = ["a.example", "b.example"].map(|name| {
        let pem = authority.issue(&[name], |_| {});
        (name, pem)
    });
    let nginx = authority.nginx(&[first, second]).await;
    for name in ["a.example", "b.example"] {
        let outcome = outcome(nginx.address, &https(name, authority.trust())).await;
        assert!(outcome.is_ok(), "{name}: {outcome:?}");
    }
    // The host may be another one.
    let mut https = https("b.example", authority.trust());
    https.http.host = Some("c.example".to_owned());
    let outcome = outcome(nginx.address, &https).await;
    assert!(outcome.is_ok(), "{outcome:?}");
}

#[tokio::test]
async fn an_address_is_checked_against_the_certificate_and_not_sent_as_sni() {
    let authority = Authority::new();
    let by_address = authority.issue(&[], |parameters| {
        let address = SanType::IpAddress([127, 0, 0, 1].into());
        parameters.subject_alt_names.push(address);
    });
    let by_name = authority.issue(&["b.example"], |_| {});
    let certificates = [("a.example", by_address), ("127.0.0.1", by_name)];
    let nginx = authority.nginx(&certificates).await;
    let found = outcome(nginx.address, &https("127.0.0.1", authority.trust())).await;
    assert!(found.is_ok(), "{found:?}");
    let found = outcome(nginx.address, &https("127.0.0.2", authority.trust())).await;
    assert_eq!(
        said(found),
        "the certificate is for 127.0.0.1, not for 127.0.0.2"
    );
}

#[tokio::test]
async fn what_is_wrong_with_a_certificate_is_told() {
    type Change = fn(&mut CertificateParams);
    let unchanged: Change = |_| {};
    let old: Change = |it| it.not_after = date_time_ymd(2020, 2, 3);
    let new: Change = |it| it.not_before = date_time_ymd(2120, 2, 3);
    let authority = Authority::new();
    let (other, same_name) = (Authority::called("another"), Authority::new());
    let unknown = "unknown issuer: no authority of /ca.pem vouches for the certificate";
    for (signer, names, change, expected) in [
        (
            &authority,
            &["a.example"][..],
            old,
            "the certificate expired on 2020-02-03T00:00:00Z",
        ),
        (
            &authority,
            &["a.example"],
            new,
            "the certificate is not valid before 2120-02-03T00:00:00Z",
        ),
        (
            &authority,
            &["b.example", "c.example"],
            unchanged,
            "the certificate is for b.example, c.example, not for a.example",
        ),
        (
            &authority,
            &[],
            unchanged,
            "the certificate is for no name, and so not for a.example",
        ),
        (&other, &["a.example"], unchanged, unknown),
        (&same_name, &["a.example"], unchanged, unknown),
    ] {
        let pem = signer.issue(names, change);
        let nginx = signer.nginx(&[("a.example", pem)]).await;
        let checked = https("a.example", authority.trust());
        assert_eq!(said(outcome(nginx.address, &checked).await), expected);
        let unchecked = https("a.example", Trust::Anyone);
        let found = outcome(nginx.address, &unchecked).await;
        assert!(found.is_ok(), "without verification: {found:?}");
    }
}

#[tokio::test]
async fn a_server_without_tls_is_told_from_one_with() {
    let nginx = Nginx::start(&[], |address| format!("server {{ listen {address}; }}")).await;
    let found = outcome(nginx.address, &https("a.example", Trust::Anyone)).await;
    assert_eq!(said(found), "what it says is no TLS");
}

#[tokio::test]
async fn a_server_that_wants_a_certificate_of_the_probe_refuses_it() {
    let authority = Authority::new();
    let pem = authority.issue(&["a.example"], |_| {});
    let ca = authority.certificate.pem();
    let key = authority.key.serialize_pem();
    let files = [("a.pem", &*pem), ("key.pem", &*key), ("ca.pem", &*ca)];
    let nginx = Nginx::start(&files, |address| {
        format!(
            "server {{ listen {address} ssl; ssl_certificate a.pem; ssl_certificate_key key.pem;
             ssl_client_certificate ca.pem; ssl_verify_client on; }}"
        )
    })
    .await;
    let found = outcome(nginx.address, &https("a.example", authority.trust())).await;
    // nginx completes the handshake to say so by HTTP.
    assert_eq!(found, Err(Failure::Status(400)));
}

/// Gives the one connection that comes to `serve`.
async fn against<F: Future<Output = ()>>(
    timeout: Duration,
    serve: impl FnOnce(tokio::net::TcpStream) -> F,
) -> Result<Duration, Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (https, clients) = (https("a.example", Trust::Anyone), Clients::default());
    let probe = probe(address, &https, &clients, timeout);
    let serve = async { serve(listener.accept().await.unwrap().0).await };
    tokio::join!(probe, serve).0
}

#[tokio::test]
async fn a_silent_server_times_out_in_the_handshake() {
    let found = against(Duration::from_millis(200), |mut stream| async move {
        while let Ok(1..) = stream.read(&mut [0; 1024]).await {}
    })
    .await;
    let phase = Phase::Handshake;
    assert_eq!(found, Err(Failure::Timeout { phase }));
}

#[tokio::test]
async fn an_end_in_the_handshake_is_told() {
    let found = against(AMPLE, |mut stream| async move {
        let _hello = stream.read(&mut [0; 4096]).await.unwrap();
    })
    .await;
    assert_eq!(said(found), "closed the connection during the handshake");
}

#[tokio::test]
async fn an_alert_is_told() {
    let found = against(AMPLE, |mut stream| async move {
        let _hello = stream.read(&mut [0; 4096]).await.unwrap();
        // Alert, TLS 1.2, 2 bytes: fatal, unrecognized_name (RFC 8446, 6).
        stream.write_all(&[21, 3, 3, 0, 2, 2, 112]).await.unwrap();
    })
    .await;
    assert_eq!(said(found), "the backend refused it: UnrecognisedName");
}

#[tokio::test]
async fn a_port_without_a_listener_refuses() {
    let bound = tokio::net::TcpSocket::new_v4().unwrap();
    bound.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let found = outcome(
        bound.local_addr().unwrap(),
        &https("a.example", Trust::Anyone),
    )
    .await;
    assert_eq!(found, Err(Failure::Refused));
}

#[test]
fn probes_that_trust_the_same_share_a_configuration() {
    let (clients, authority) = (Clients::default(), Authority::new());
    let client = |trust: &Trust| clients.of(trust).unwrap();
    let one = client(&authority.trust());
    assert!(std::sync::Arc::ptr_eq(&one, &client(&authority.trust())));
    assert!(!std::sync::Arc::ptr_eq(&one, &client(&Trust::Anyone)));
    clients.keep(&[&Trust::Anyone].into());
    assert!(!std::sync::Arc::ptr_eq(&one, &client(&authority.trust())));
}
