use std::{
    fs, io,
    os::unix::fs::{FileTypeExt as _, PermissionsExt as _},
    path::Path,
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{UnixListener, UnixStream},
    sync::{mpsc, oneshot},
    time::timeout,
};

use super::{MAX_REQUEST, Reply, Request};
use crate::{
    accept,
    refusal::{
        Refusal, Refused,
        command::{bad_request, daemon_ends, late_request},
        edge::{no_socket, socket_taken, unusable_socket},
    },
};

/// A client that says nothing for this long is sent away.
const PATIENCE: Duration = Duration::from_secs(5);

/// Clients served at a time; more of them wait.
const CLIENTS: usize = 64;

/// A request with the place for its reply.
pub type Question = (Request, oneshot::Sender<Reply>);

/// Listens at `path`, readable and writable for owner and group, and hands every request to
/// `questions`. A socket that a dead daemon left there is replaced.
///
/// # Errors
///
/// The path can not be made, or something else than a dead daemon's socket is there.
pub fn serve(path: &Path, questions: mpsc::Sender<Question>) -> Result<(), Refusal> {
    let listener = bind(path)?;
    accept::serve(
        "A control client",
        CLIENTS,
        move |cx| listener.poll_accept(cx).map_ok(|(stream, _)| stream),
        move |stream| {
            let questions = questions.clone();
            async move {
                if let Err(error) = attend(stream, &questions).await {
                    tracing::debug!(%error, "A control client was sent away.");
                }
            }
        },
    );
    Ok(())
}

fn bind(path: &Path) -> Result<UnixListener, Refusal> {
    let at = &path.display();
    let failed = |error: io::Error| unusable_socket(at, error);
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).map_err(failed)?;
    }
    match fs::symlink_metadata(path) {
        Ok(there) if there.file_type().is_socket() => {
            if std::os::unix::net::UnixStream::connect(path).is_ok() {
                return Err(socket_taken(at));
            }
            fs::remove_file(path).map_err(failed)?;
        }
        Ok(_) => return Err(no_socket(at)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed(error)),
    }
    let listener = UnixListener::bind(path).map_err(failed)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o660)).map_err(failed)?;
    Ok(listener)
}

async fn attend(stream: UnixStream, questions: &mpsc::Sender<Question>) -> io::Result<()> {
    let (read, mut write) = stream.into_split();
    let reply = match timeout(PATIENCE, request(read)).await {
        Ok(Ok(request)) => answer(request, questions).await,
        Ok(Err(refusal)) => Err(refusal),
        Err(_) => Err(late_request(PATIENCE.as_secs())),
    };
    let reply = reply.unwrap_or_else(|refusal| Reply::Refused(Refused::from(refusal)));
    let mut line = serde_json::to_vec(&reply)?;
    line.push(b'\n');
    timeout(PATIENCE, write.write_all(&line)).await?
}

async fn request(read: impl tokio::io::AsyncRead + Unpin) -> Result<Request, Refusal> {
    let mut line = Vec::new();
    let limit = MAX_REQUEST as u64;
    BufReader::new(read.take(limit))
        .read_until(b'\n', &mut line)
        .await
        .map_err(bad_request)?;
    if line.last() != Some(&b'\n') {
        let rule = format_args!("it is no line of JSON of at most {MAX_REQUEST} bytes");
        return Err(bad_request(rule));
    }
    serde_json::from_slice(&line).map_err(bad_request)
}

async fn answer(request: Request, questions: &mpsc::Sender<Question>) -> Result<Reply, Refusal> {
    let (reply, answered) = oneshot::channel();
    let question = questions.send((request, reply)).await;
    question.map_err(|_ended| daemon_ends())?;
    answered.await.map_err(|_ended| daemon_ends())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tokio::runtime;

    use super::*;

    /// What the daemon makes of what a client sends.
    fn read(bytes: &[u8]) -> Result<Request, Refusal> {
        let runtime = runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(request(bytes))
    }

    const VALID: [&str; 9] = [
        r#""status""#,
        r#"{"reload":{"path":null}}"#,
        r#"{"reload":{"path":"/etc/waggle/waggle.toml"}}"#,
        r#"{"explain":{"service":"web","client":"2001:db8::1"}}"#,
        r#"{"explain_classes":{"service":"web"}}"#,
        r#"{"plan":{"path":"/etc/waggle/next.toml"}}"#,
        r#"{"admin":{"subject":{"backend":"a"},"change":{"admin":"drain"}}}"#,
        r#"{"admin":{"subject":{"member":{"group":"web","backend":"a"}},"change":{"weight":7}}}"#,
        r#"{"admin":{"subject":{"member":{"group":"web","backend":"a"}},"change":"reset"}}"#,
    ];

    #[test]
    fn a_request_is_written_as_it_is_read() {
        for text in VALID {
            let request = read(format!("{text}\n").as_bytes()).unwrap();
            assert_eq!(serde_json::to_string(&request).unwrap(), text);
        }
    }

    #[test]
    fn what_is_no_request_is_refused() {
        let long = format!("\"{}\"\n", "x".repeat(MAX_REQUEST));
        let deep = format!("{}\n", "[".repeat(MAX_REQUEST - 1));
        for bytes in [
            "",
            "\n",
            "\"status\"",
            "\"stauts\"\n",
            "null\n",
            "\"reload\"\n",
            "{\"status\":1}\n",
            "{\"explain\":{\"service\":\"web\",\"client\":\"300.1.1.1\"}}\n",
            "{\"admin\":{\"subject\":{\"backend\":\"a/b\"},\"change\":{\"admin\":\"drain\"}}}\n",
            "{\"admin\":{\"subject\":{\"backend\":\"a\"},\"change\":{\"weight\":65536}}}\n",
            "\"status\" \"status\"\n",
            &long,
            &deep,
        ] {
            let refusal = read(bytes.as_bytes()).unwrap_err();
            assert_eq!(refusal.code, "bad-request", "{bytes:.40}");
        }
    }

    #[test]
    fn a_daemon_that_ends_refuses_what_it_is_still_asked() {
        let runtime = runtime::Builder::new_current_thread().build().unwrap();
        let (questions, taken) = mpsc::channel(1);
        drop(taken);
        let answer = runtime.block_on(answer(Request::Status, &questions));
        assert_eq!(answer.unwrap_err().code, "daemon-ends");
        let (questions, mut taken) = mpsc::channel(1);
        let ended = async { drop(taken.recv().await) };
        let asked = async { tokio::join!(super::answer(Request::Status, &questions), ended).0 };
        assert_eq!(runtime.block_on(asked).unwrap_err().code, "daemon-ends");
    }

    #[test]
    fn only_the_first_line_is_read() {
        assert_eq!(read(b"\"status\"\n\xff garbage").unwrap(), Request::Status);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = read(&bytes);
            let _ = read(&[bytes, b"\n".to_vec()].concat());
        }

        #[test]
        fn no_damage_to_a_request_panics(
            text in prop::sample::select(VALID.to_vec()),
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        ) {
            let mut bytes = format!("{text}\n").into_bytes();
            for (at, byte) in damage {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            let _ = read(&bytes);
        }
    }
}
