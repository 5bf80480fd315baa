//! A plan for people.

use super::super::{
    columns::{columns, header},
    distribution,
};
use crate::{
    plan::{BackendPlan, Distribution, Move, Plan, ServiceChange, ServicePlan},
    policy::percent,
};

pub(super) fn text(plan: &Plan) -> String {
    let mut parts = Vec::new();
    if plan.is_empty() {
        parts.push("nothing changes\n".to_owned());
    }
    if !plan.changes.is_empty() {
        let lines = plan.changes.iter().map(|line| format!("  {line}\n"));
        parts.push(format!("changes\n{}", lines.collect::<String>()));
    }
    parts.extend(plan.services.iter().map(service));
    if plan.services.is_empty() && !plan.is_empty() {
        parts.push("no client of any service gets something else\n".to_owned());
    }
    if !plan.backends.is_empty() {
        parts.push(backends(&plan.backends));
    }
    if !plan.assumed_up.is_empty() {
        let members = plan.assumed_up.join(", ");
        parts.push(format!("assumed up, not observed yet: {members}\n"));
    }
    if !plan.restart.is_empty() {
        let settings = plan.restart.join(", ");
        parts.push(format!(
            "`waggle reload` would refuse it: {settings} can change only at a start\n"
        ));
    }
    if let Some(why) = &plan.refused {
        parts.push(format!("`waggle reload` would refuse it: {why}\n"));
    }
    parts.join("\n")
}

fn service(service: &ServicePlan) -> String {
    let ServicePlan {
        service: name,
        change,
        family,
        part,
        part_value,
        moves,
        more,
    } = service;
    let mut text = match change {
        ServiceChange::Added => format!("service {name}, added\n"),
        ServiceChange::Removed => format!("service {name}, removed\n"),
        ServiceChange::Changed => format!(
            "service {name}, changed for {} of all {family} addresses\n",
            share(part, *part_value)
        ),
    };
    let head = ["ADDRESSES", "SUCH AS", "FROM", "", "TO"];
    let mut rows = vec![header(&head)];
    rows.extend(moves.iter().map(row));
    text += &columns(2, &rows);
    if *more > 0 {
        text += &format!("  and {more} more\n");
    }
    text
}

fn row(step: &Move) -> Vec<String> {
    let fate = |fate: &Option<Distribution>| {
        let told = fate.as_ref();
        told.map_or_else(
            || "-".to_owned(),
            |it| distribution(&it.shares, &it.answers),
        )
    };
    vec![
        share(&step.part, step.part_value),
        step.sample.clone(),
        fate(&step.from),
        "->".to_owned(),
        fate(&step.to),
    ]
}

fn backends(backends: &[BackendPlan]) -> String {
    let mut rows = vec![header(&[
        "BACKEND",
        "FLOWS NOW",
        "SERVICE",
        "BEFORE",
        "AFTER",
    ])];
    for BackendPlan {
        backend,
        flows,
        services,
    } in backends
    {
        let flows = flows.map_or_else(|| "-".to_owned(), |flows| flows.to_string());
        let mut first = vec![backend.to_string(), flows];
        for load in services {
            first.extend([
                load.service.to_string(),
                part(load.before),
                part(load.after),
            ]);
            rows.push(std::mem::replace(&mut first, vec![String::new(); 2]));
        }
        if services.is_empty() {
            first.push("-".to_owned());
            rows.push(first);
        }
    }
    columns(0, &rows)
}

/// `25 % (1/4)`; a fraction that nobody would read is left out.
fn share(fraction: &str, value: f64) -> String {
    const LONGEST: usize = 11;
    match fraction.len() {
        2..=LONGEST => format!("{} ({fraction})", percent(value)),
        _ => percent(value),
    }
}

fn part(value: f64) -> String {
    if value == 0.0 {
        "none".to_owned()
    } else {
        percent(value)
    }
}
