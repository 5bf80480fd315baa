//! `waggle plan` on two files.

use std::fs;

use super::{said, with_rule};

#[test]
fn plan_tells_two_files_apart_and_3_says_that_something_changes() {
    let (dir, old) = with_rule();
    let text = fs::read_to_string(&old).expect("it is there");
    let new = dir.path().join("next.toml");
    let new = new.to_str().expect("it is UTF-8");
    fs::write(new, text.replace("answer = \"drop\"", "answer = \"pass\"")).expect("a file");

    let (status, said_text, error) = said(&["plan", new, "--against", &old]);
    assert_eq!((status, error.as_str()), (Some(3), ""));
    let expected = "\
changes
  service web: rules changed

service web, changed for <0.01 % of all IPv4 addresses
  ADDRESSES  SUCH AS       FROM         TO
  <0.01 %    192.0.2.0/26  dropped  ->  left to this host
";
    assert_eq!(said_text, expected);
    let (status, json, _) = said(&["plan", new, "--against", &old, "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(status, Some(3));
    // 100 addresses of 2^32.
    assert_eq!(json["services"][0]["part"], "25/1073741824");

    let same = said(&["plan", &old, "--against", &old]);
    assert_eq!(
        same,
        (Some(0), "nothing changes\n".to_owned(), String::new())
    );
    let (status, text, error) = said(&["plan", "/nonexistent", "--against", &old]);
    assert_eq!((status, text.as_str()), (Some(1), ""));
    assert!(error.starts_with("error[unreadable-file]: "), "{error}");
}

#[test]
fn plan_offline_assumes_what_it_is_told() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        fs::write(&path, text).expect("it is a directory of the test's own");
        path.to_str().expect("it is UTF-8").to_owned()
    };
    let text = include_str!("../../../config/examples/front-door.toml");
    let old = file("old.toml", text);
    let new = file(
        "new.toml",
        &text.replace("latency_window = \"30ms\"", "latency_window = \"60ms\""),
    );
    let plan = ["plan", &new, "--against", &old];
    let (status, unmeasured, _) = said(&plan);
    assert_eq!(status, Some(3));
    let nobody = "no client of any service gets something else\n";
    assert!(unmeasured.ends_with(nobody), "{unmeasured}");
    let assume = file(
        "assumed.toml",
        "[health]\nc = \"down\"\n[latency_ms]\na = 15\nb = 30\nd = 60\n",
    );
    let (status, measured, _) = said(&[&plan[..], &["--assume", &assume]].concat());
    assert_eq!(status, Some(3));
    assert!(
        measured.contains("a 3/10, b 7/10  ->  a 1/20, b 7/60, d 5/6\n"),
        "{measured}"
    );
    let (status, _, error) = said(&["plan", &new, "--against", &old, "--assume", &old]);
    assert_eq!(status, Some(1));
    assert!(error.contains("error[unknown-key]: "), "{error}");
}
