//! Kinds of probes, as an operator meets them.

use std::{fs, process::Stdio};

use lb_tests::lab::{DEADLINE, Daemon, Host, Process, Scratch, Settings, WebServer, wait_until};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};

use super::rig::{PORT, lab, member, reload, tables, wait_all_up, wait_health, wait_log};

/// An nginx that speaks TLS for `www.example.com`, with an authority that only it has.
struct Tls {
    scratch: Scratch,
    issuer: Issuer<'static, KeyPair>,
}

impl Tls {
    fn new() -> Self {
        let scratch = Scratch::new();
        let mut parameters = CertificateParams::default();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let authority = parameters.self_signed(&key).expect("an authority");
        fs::write(scratch.path("ca.pem"), authority.pem()).expect("a place for it");
        let issuer = Issuer::new(parameters, key);
        Self { scratch, issuer }
    }

    fn serve(&self, host: &Host, year_of_end: i32) -> Process {
        let mut parameters =
            CertificateParams::new(["www.example.com".to_owned()]).expect("a name");
        parameters.not_after = date_time_ymd(year_of_end, 1, 1);
        let key = KeyPair::generate().expect("a key");
        let certificate = parameters
            .signed_by(&key, &self.issuer)
            .expect("a certificate");
        let configuration = format!(
            "daemon off; master_process off; pid nginx.pid; events {{}}
             http {{
                 access_log off;
                 client_body_temp_path t; proxy_temp_path t; fastcgi_temp_path t;
                 uwsgi_temp_path t; scgi_temp_path t;
                 server {{ listen {PORT} ssl; ssl_certificate cert.pem;
                     ssl_certificate_key key.pem; location / {{ return 200; }} }}
             }}"
        );
        for (name, content) in [
            ("cert.pem", certificate.pem()),
            ("key.pem", key.serialize_pem()),
            ("nginx.conf", configuration),
        ] {
            fs::write(self.scratch.path(name), content).expect("a place for it");
        }
        let mut command = host.command("nginx");
        command
            .args(["-e", "stderr", "-c", "nginx.conf", "-p"])
            .arg(self.scratch.path(""))
            .stdin(Stdio::null())
            .stderr(Stdio::null());
        Process::spawn(&mut command)
    }

    fn ca_file(&self) -> String {
        format!("ca_file = \"{}\"", self.scratch.path("ca.pem").display())
    }
}

/// The tables of the rig with another kind of probe.
fn probed_by(kind: &str) -> String {
    tables(&[1]).replace("kind = \"http\"", kind)
}

#[track_caller]
fn start<'lab>(lab: &'lab lb_tests::lab::Lab, rest: &str) -> Daemon<'lab> {
    let settings = Settings {
        rest,
        ..Settings::default()
    };
    Daemon::start(lab.edge(), settings)
}

#[test]
fn an_https_probe_checks_the_certificate_and_says_what_is_wrong_with_it() {
    let (lab, tls) = (lab(1), Tls::new());
    let mut good = tls.serve(&lab.backends[0], 2120);
    let https = format!(
        "kind = \"https\", host = \"www.example.com\", {}",
        tls.ca_file()
    );
    let daemon = start(&lab, &probed_by(&https));
    wait_all_up(&daemon, 1);

    good.kill9();
    let _expired = tls.serve(&lab.backends[0], 2020);
    let why = "no TLS connection: the certificate expired on 2020-01-01T00:00:00Z";
    wait_until(DEADLINE, why, || {
        let why_now = &member(&daemon, "backend-1")["why"];
        why_now.as_str().is_some_and(|text| text.ends_with(why))
    });
    wait_health(&daemon, &[("backend-1", "down")]);
    let shown = daemon.waggle(&["status"]);
    assert!(shown.stdout.contains(why), "{shown:?}");

    let unchecked = "kind = \"https\", host = \"www.example.com\", verify = false";
    let outcome = reload(&daemon, &probed_by(unchecked));
    assert!(outcome.ok(), "{outcome:?}");
    wait_all_up(&daemon, 1);
}

#[test]
fn a_reload_with_a_file_that_is_no_certificate_is_refused_with_its_place() {
    let (lab, tls) = (lab(1), Tls::new());
    let _server = tls.serve(&lab.backends[0], 2120);
    let https = format!(
        "kind = \"https\", host = \"www.example.com\", {}",
        tls.ca_file()
    );
    let daemon = start(&lab, &probed_by(&https));
    wait_all_up(&daemon, 1);
    let broken = https.replace("ca.pem", "key.pem");
    let outcome = reload(&daemon, &probed_by(&broken));
    let said = "group[0].probe.ca_file: ";
    assert!(
        !outcome.ok() && outcome.stderr.contains(said),
        "{outcome:?}"
    );
    assert!(
        outcome.stderr.contains("error[no-certificate]: "),
        "{outcome:?}"
    );
    wait_all_up(&daemon, 1);
}

#[test]
fn a_tcp_probe_follows_the_listener() {
    let lab = lab(1);
    let server = WebServer::start(&lab.backends[0], "backend-1", PORT);
    let daemon = start(&lab, &probed_by("kind = \"tcp\""));
    wait_all_up(&daemon, 1);
    assert!(member(&daemon, "backend-1")["latency_ms"].as_f64() < Some(200.0));
    assert_eq!(server.requests("/"), 0, "nothing is asked");
    drop(server);
    wait_health(&daemon, &[("backend-1", "down")]);
    wait_log(&daemon, "refused the connection");
}
