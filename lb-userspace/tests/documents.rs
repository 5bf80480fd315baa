//! The files in `docs/` that are made of the code.

use std::{env, fs, path::Path};

use lb_userspace::refusal::{self, Area, Entry};

/// Set, it has the files written instead of compared.
const WRITE: &str = "WAGGLE_WRITE_DOCS";

#[test]
fn errors_md_is_the_catalogue() {
    check("errors.md", &errors());
}

/// The document `name` is `text`.
fn check(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../docs")
        .join(name);
    if env::var_os(WRITE).is_some() {
        fs::write(&path, text).expect("docs/ can be written");
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == text,
        "docs/{name} is out of date; write it anew: \
         `{WRITE}=1 cargo test -p lb-userspace --test documents`"
    );
}

/// The catalogue of refusals.
fn errors() -> String {
    let mut text = "# What Waggle refuses, and how to mend it

Made of `lb-userspace/src/refusal`. A message is `what is wrong; what would be right`; a mistake in a
file has its place before it: `group[2].member[0].weight`, counted from 0. What stands in braces
differs from case to case. `waggle check --format json` prints each mistake with its code.
"
    .to_owned();
    let areas = [refusal::CONFIGURATION, refusal::CONTROL, refusal::KERNEL];
    for Area { title, entries } in areas.into_iter().flatten() {
        text += &format!("\n## {title}\n\n| code | message | what it means | what to do |\n");
        text += "|---|---|---|---|\n";
        for entry in *entries {
            let Entry {
                code,
                message,
                mend,
                meaning,
            } = entry;
            let [message, mend, meaning] = [message, mend, meaning].map(|cell| cell_of(cell));
            text += &format!("| `{code}` | {message} | {meaning} | {mend} |\n");
        }
    }
    text
}

/// `template` as one cell of a table, with single braces where the template doubles them.
fn cell_of(template: &str) -> String {
    template
        .trim()
        .replace("{{", "{")
        .replace("}}", "}")
        .replace('|', "\\|")
}
