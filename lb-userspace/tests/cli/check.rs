//! `waggle check`.

use std::fs;

use super::said;

#[test]
fn check_prints_one_document_for_tools_whatever_it_finds() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let check = |text: &str| {
        fs::write(file.path(), text).unwrap();
        let path = file.path().to_str().unwrap();
        let (status, stdout, stderr) = said(&["check", "--format", "json", path]);
        let document: serde_json::Value = serde_json::from_str(&stdout).expect("JSON");
        (status, document, stderr)
    };
    let (status, document, stderr) = check("edge = { name = \"e\", interfaces = [\"eth0\"] }");
    assert_eq!((status, stderr.as_str()), (Some(0), ""));
    assert_eq!(document["edge"], "e");
    assert_eq!(document["warnings"][0]["code"], "no-service");

    let (status, document, stderr) = check("edge = { name = \"e\" }\ncolour = 1");
    assert_eq!(status, Some(1));
    let expected = serde_json::json!({ "file": file.path(), "errors": [
        {
            "path": "edge.interfaces",
            "code": "missing-key",
            "message": "is missing",
            "mend": "add `interfaces = [\"eth0\"]`",
        },
        {
            "path": "colour",
            "code": "unknown-key",
            "message": "unknown key",
            "mend": "known here: edge, backend, service, group, locations, geography, latency",
        },
    ] });
    assert_eq!(document, expected);
    assert!(stderr.contains(" has 2 mistakes:\n"), "{stderr}");
    assert!(
        stderr.contains("\nerror[unknown-key]: colour: unknown key;"),
        "{stderr}"
    );
}
