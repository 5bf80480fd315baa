//! Against a server that everyone has.

use std::{
    fs,
    process::{Child, Command},
};

use super::*;

/// An nginx process of this test.
struct Nginx {
    process: Child,
    address: SocketAddr,
    _directory: tempfile::TempDir,
}

impl Nginx {
    async fn start() -> Self {
        let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        let directory = tempfile::tempdir().unwrap();
        let configuration = format!(
            "daemon off; master_process off; pid nginx.pid; error_log stderr crit;
             events {{}}
             http {{
                 access_log off;
                 client_body_temp_path t; proxy_temp_path t; fastcgi_temp_path t;
                 uwsgi_temp_path t; scgi_temp_path t;
                 server {{ listen {address}; location = /healthz {{ return 200 fine; }} }}
             }}"
        );
        fs::write(directory.path().join("nginx.conf"), configuration).unwrap();
        let process = Command::new("nginx")
            .args(["-e", "stderr", "-c", "nginx.conf", "-p"])
            .arg(directory.path())
            .spawn()
            .expect("nginx is needed: run `cargo xtask setup`");
        let nginx = Self {
            process,
            address,
            _directory: directory,
        };
        let start = time::Instant::now();
        while TcpStream::connect(address).await.is_err() {
            assert!(start.elapsed() < AMPLE, "nginx does not listen");
            time::sleep(AMPLE / 1_000).await;
        }
        nginx
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

#[tokio::test]
async fn nginx_answers_200_and_404() {
    let nginx = Nginx::start().await;
    let missing = |http| HttpProbe {
        path: "/missing".to_owned(),
        ..http
    };
    for http in [head(), get()] {
        let outcome = probe(nginx.address, &http, AMPLE).await;
        assert!(outcome.is_ok(), "{outcome:?}");
        let outcome = probe(nginx.address, &missing(http), AMPLE).await;
        assert_eq!(outcome, Err(Failure::Status(404)));
    }
}
