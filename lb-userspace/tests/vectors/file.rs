use std::collections::BTreeMap;

use lb_userspace::model::Share;

/// One vector, in the words of the file.
#[derive(serde::Deserialize)]
pub(crate) struct Vector {
    id: String,
    pub(crate) obs: String,
    pub(crate) expected: String,
}

/// The vector with this id, which must be in the file.
pub(crate) fn vector(id: &str) -> Vector {
    let file = include_str!("../../../tests/vectors/routing.json");
    let vectors: Vec<Vector> = serde_json::from_str(file).expect("routing.json has vectors");
    let mut vectors = vectors.into_iter().filter(|vector| vector.id == id);
    vectors.next().expect("the vector is in routing.json")
}

impl Vector {
    /// The expected shares: `A 3/10, B 7/10`, or `no answer`.
    pub(crate) fn shares(&self) -> BTreeMap<String, Share> {
        if self.expected == "no answer" {
            return BTreeMap::from([(self.expected.clone(), Share::from_integer(1.into()))]);
        }
        let share = |text: &str| {
            let (member, share) = text.split_once(' ').expect("a member and its share");
            (member.to_owned(), share.parse().expect("a fraction"))
        };
        self.expected.split(", ").map(share).collect()
    }
}
