use std::{collections::BTreeMap, rc::Rc};

use super::Side;
use crate::{
    model::{Name, NoAnswer, Route, Service},
    policy::{Destination, Parts, Rows, decide_all},
};

/// What clients of each class get of each service of a configuration.
pub(super) struct Fates<'a> {
    side: Side<'a>,
    roots: BTreeMap<&'a Name, Root>,
    answers: BTreeMap<NoAnswer, Rc<Parts>>,
}

/// What clients get of a group that services name.
struct Root {
    /// Each once.
    parts: Vec<Rc<Parts>>,
    /// For each class which of them.
    of_class: Vec<usize>,
}

impl<'a> Fates<'a> {
    pub(super) fn of(side: Side<'a>) -> Self {
        let answer = |answer| {
            let parts = Rows::one(Destination::Answer(answer)).total();
            (answer, Rc::new(parts))
        };
        let answers = [NoAnswer::Drop, NoAnswer::Pass, NoAnswer::Reject].map(answer);
        let root = |name: &'a Name| {
            let meanings = side.clients.meanings(name);
            let decisions = decide_all(&side.scene, name, &meanings.clients);
            let parts = decisions.distinct.iter().map(|it| Rc::new(it.rows.total()));
            let of_class = meanings.of_class.iter().map(|it| decisions.of_client[*it]);
            let root = Root {
                parts: parts.collect(),
                of_class: of_class.collect(),
            };
            (name, root)
        };
        Self {
            roots: side.model.root_groups().into_iter().map(root).collect(),
            side,
            answers: answers.into(),
        }
    }

    /// What new flows of clients of a class get of a service.
    pub(super) fn of_class(&self, service: &Service, class: usize) -> Rc<Parts> {
        let routes = &self.side.clients.partition().classes[class].routes;
        let route = routes.get(&service.key());
        let parts = match route.map_or(Ok(&service.group), Route::leads_to) {
            Ok(group) => {
                let root = &self.roots[group];
                &root.parts[root.of_class[class]]
            }
            Err(answer) => &self.answers[&answer],
        };
        Rc::clone(parts)
    }
}
