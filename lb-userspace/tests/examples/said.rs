use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

/// Set, it has the texts written instead of compared.
const WRITE: &str = "WAGGLE_WRITE_DOCS";

/// A question to `waggle explain`.
pub(crate) struct Case {
    /// Where the answer comes from: rules, worked examples or vectors.
    of: &'static str,
    service: &'static str,
    client: &'static str,
    /// Assumed observations.
    assumed: String,
    /// The shares, or the answer.
    shares: Option<&'static str>,
}

/// The question for a client of the service `web`, and its answer.
pub(crate) fn case(
    of: &'static str,
    client: &'static str,
    assumed: impl Into<String>,
    shares: &'static str,
) -> Case {
    Case {
        of,
        service: "web",
        client,
        assumed: assumed.into(),
        shares: Some(shares),
    }
}

impl Case {
    pub(crate) fn of_service(self, service: &'static str) -> Self {
        Self { service, ..self }
    }

    /// What the shares are is tested elsewhere.
    pub(crate) fn whatever_the_shares(self) -> Self {
        Self {
            shares: None,
            ..self
        }
    }
}

/// Observations in which these backends are down.
pub(crate) fn down(backends: &[&str]) -> String {
    let lines = backends
        .iter()
        .map(|name| format!("health.{name} = \"down\"\n"));
    lines.collect()
}

/// Where the examples are.
pub(crate) fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/examples")
}

/// The names of all examples.
pub(crate) fn all() -> BTreeSet<String> {
    named(&directory(), "toml")
}

/// The names of the files in a directory that have an ending, without it.
fn named(directory: &Path, ending: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(directory).expect("the directory is there");
    let paths = entries.map(|entry| entry.expect("the directory is there").path());
    let texts = paths.filter(|path| path.extension().is_some_and(|it| it == ending));
    let names = texts.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()));
    names.collect()
}

/// Exit status, standard output and standard error of `waggle` in a directory.
pub(crate) fn waggle(directory: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_waggle"));
    command.args(arguments).current_dir(directory);
    let Output {
        status,
        stdout,
        stderr,
    } = command.stdin(Stdio::null()).output().expect("it starts");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (status.code(), text(stdout), text(stderr))
}

/// Checks an example and asks it: the shares are those of `cases`, and the text is that of `NAME.txt`.
pub(crate) fn check(name: &str, cases: &[Case]) {
    let file = format!("{name}.toml");
    let (status, said, wrong) = waggle(&directory(), &["check", &file]);
    assert_eq!(status, Some(0), "{wrong}");
    let mut text = format!("$ waggle check {file}\n{said}");
    for case in cases {
        text += &ask(&file, case);
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/examples/{name}.txt"));
    if env::var_os(WRITE).is_some() {
        fs::write(&path, &text).expect("the texts can be written");
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == text,
        "{} is out of date; write it anew, and read it: \
         `{WRITE}=1 cargo test -p lb-userspace --test examples`\n{text}",
        path.display()
    );
}

fn ask(file: &str, case: &Case) -> String {
    let Case {
        of,
        service,
        client,
        assumed,
        shares,
    } = case;
    let mut assume = tempfile::NamedTempFile::new().expect("a file for the observations");
    std::io::Write::write_all(&mut assume, assumed.as_bytes()).expect("it can be written");
    let path = assume.path().to_str().expect("its name is text");
    let asked = [
        "explain",
        "--config",
        file,
        "--assume",
        path,
        "--service",
        service,
        "--client",
        client,
    ];
    let (status, said, wrong) = waggle(&directory(), &asked);
    assert_eq!((status, &*wrong), (Some(0), ""), "{of}");
    let json = [&asked[..], &["--format", "json"]].concat();
    let (_, json, _) = waggle(&directory(), &json);
    if let Some(shares) = shares {
        assert_eq!(shares_of(&json), *shares, "{of}:\n{said}");
    }
    let assumed = match assumed.as_str() {
        "" => "all are up",
        assumed => assumed.trim_end(),
    };
    format!(
        "\n# {of}\n# {}\n$ waggle explain --config {file} --service {service} --client {client}\n{said}",
        assumed.replace('\n', "\n# ")
    )
}

/// What of an explanation in JSON the shares are, each exactly, or what becomes of flows without any.
fn shares_of(json: &str) -> String {
    #[derive(serde::Deserialize)]
    struct Explanation {
        outcome: String,
        fractions: BTreeMap<String, String>,
        #[serde(default)]
        answers: BTreeMap<String, String>,
    }
    let Explanation {
        outcome,
        fractions,
        answers,
    } = serde_json::from_str(json).expect("an explanation");
    let backends = fractions
        .iter()
        .map(|(name, share)| format!("{name} {share}"));
    let answers = answers
        .iter()
        .map(|(answer, share)| format!("({answer}) {share}"));
    let shares: Vec<_> = backends.chain(answers).collect();
    if shares.is_empty() {
        outcome
    } else {
        shares.join(", ")
    }
}

#[test]
fn every_example_has_its_text() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/examples");
    assert_eq!(named(&here, "txt"), all(), "ask those that have none");
}
