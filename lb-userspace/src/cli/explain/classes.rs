//! All classes of a service's clients, for people.

use super::super::{
    columns::{columns, header},
    distribution,
};
use crate::policy::{ClassSummary, ServiceClasses, Told};

/// Classes that are shown; the others are counted.
const MOST: usize = 50;

pub(super) fn text(all: &ServiceClasses) -> String {
    let ServiceClasses {
        service,
        family,
        undecided,
        classes,
    } = all;
    let mut text = format!("service {service}, ");
    text += &match classes.len() {
        1 => format!("1 class of {family} clients\n"),
        count => format!("{count} classes of {family} clients\n"),
    };
    if *undecided {
        text += "not in force: a group of the service waits for its first probe results\n";
    }
    text.push('\n');
    let head = ["CLASS", "PREFIXES", "SUCH AS", "GROUP", "RING", "NEW FLOWS"];
    let mut rows = vec![header(&head)];
    rows.extend(classes.iter().take(MOST).map(row));
    text += &columns(0, &rows);
    if let Some(more @ 1..) = classes.len().checked_sub(MOST) {
        text += &format!("and {more} more, which --format json tells\n");
    }
    text
}

fn row(class: &ClassSummary) -> Vec<String> {
    let Told {
        fractions, answers, ..
    } = &class.told;
    let (group, ring) = (class.group.as_ref(), class.ring.as_ref());
    vec![
        class.class.to_string(),
        class.prefixes.to_string(),
        class.sample.clone(),
        group.map_or_else(|| "-".to_owned(), ToString::to_string),
        ring.map_or_else(|| "-".to_owned(), |ring| ring.hash.clone()),
        distribution(fractions, answers),
    ]
}
