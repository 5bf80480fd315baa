//! A server for tests that everyone has.

use std::{
    fs,
    net::SocketAddr,
    process::{Child, Command},
    time::Duration,
};

use tokio::{
    net::{TcpListener, TcpStream},
    time,
};

/// An nginx process of one test; it ends with this value.
pub(super) struct Nginx {
    process: Child,
    pub(super) address: SocketAddr,
    _directory: tempfile::TempDir,
}

impl Nginx {
    /// Starts it with files of these names and contents beside it. `servers` gives its servers for an
    /// address, which they all must listen on.
    pub(super) async fn start(
        files: &[(&str, &str)],
        servers: impl Fn(SocketAddr) -> String,
    ) -> Self {
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
                 {}
             }}",
            servers(address)
        );
        for (name, content) in files.iter().chain(&[("nginx.conf", &*configuration)]) {
            fs::write(directory.path().join(name), content).unwrap();
        }
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
            assert!(
                start.elapsed() < Duration::from_secs(10),
                "nginx does not listen"
            );
            time::sleep(Duration::from_millis(10)).await;
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
