//! Client prefixes in the kernel's maps.

use std::sync::Arc;

use lb_tests::{random::Random, rules};
use lb_userspace::{
    class::partition,
    dataplane::{Change, Kernel},
    model::{Prefix, Route},
    table::{ClassTable, Image, ServiceSpec},
};

use crate::host::{Host, image, show, start};

fn prefix(text: &str) -> Prefix {
    let (address, length) = text.split_once('/').unwrap();
    Prefix::around(address.parse().unwrap(), length.parse().unwrap()).unwrap()
}

/// The image with these rules for its service on port 80.
fn with_rules(mut image: Image, rules: &[(Prefix, Route)]) -> Image {
    let model = rules::model(rules.iter().cloned());
    let service = &model.services["web"];
    let spec = ServiceSpec {
        name: service.name.clone(),
        group: service.group.clone(),
        routes: rules.iter().map(|(_, route)| route.clone()).collect(),
        by_class: !rules.is_empty(),
    };
    image.services.insert(service.key(), spec);
    image.clients = Arc::new(partition(&model, &[]));
    image
}

#[test]
fn rules_are_read_back_and_a_restart_changes_nothing() {
    let host = Host::new();
    let edge = host.edge();
    let mut kernel = start(&edge).kernel;
    let mut tables = kernel.read_tables().unwrap();
    let web = Route::Group("web".parse().unwrap());
    for rules in [
        vec![
            (prefix("10.0.0.0/8"), Route::Drop),
            (prefix("10.0.0.128/25"), web),
            (prefix("255.255.255.255/32"), Route::Pass),
            (prefix("2001:db8::/32"), Route::Drop),
            (prefix("2001:db8::1/128"), Route::Pass),
        ],
        vec![
            (prefix("::/0"), Route::Drop),
            (prefix("10.0.0.9/32"), Route::Pass),
        ],
        vec![],
    ] {
        let image = with_rules(image(&[1, 2]), &rules);
        show(&mut kernel, &mut tables, &image);
        assert_eq!(kernel.read_tables().unwrap(), tables, "{rules:?}");
        let mut adopted = Kernel::open(&edge.pin_dir).unwrap();
        let mut found = adopted.read_tables().unwrap();
        show(&mut adopted, &mut found, &image);
        assert_eq!(found, tables, "nothing was to be done");
    }
}

#[test]
fn a_buffer_that_is_written_over_says_nothing_of_what_it_said() {
    let host = Host::new();
    let mut kernel = start(&host.edge()).kernel;
    let mut tables = kernel.read_tables().unwrap();
    let mut random = Random(7);
    for _ in 0..3 {
        let v6 = (0..600)
            .map(|_| (u128::from(random.draw()) << 64, 1))
            .collect();
        let v4 = (0..600).map(|_| (random.draw() as u32, 2)).collect();
        let table = Arc::new(table_of(v4, v6));
        let write = Change::WriteClients { buffer: 1, table };
        for _ in 0..2 {
            kernel.execute(&write).unwrap();
            tables.apply(&write);
        }
        let select = Change::SelectClients { buffer: 1 };
        kernel.execute(&select).unwrap();
        tables.apply(&select);
        assert_eq!(
            kernel.read_tables().unwrap().clients_in_use(),
            tables.clients_in_use()
        );
    }
}

/// Runs that begin at these addresses, with the number 0 between them.
fn table_of(v4: Vec<(u32, u16)>, v6: Vec<(u128, u16)>) -> ClassTable {
    fn runs<A: Copy + Ord + Default>(mut runs: Vec<(A, u16)>, all: &mut Vec<(A, u16)>) {
        runs.sort_unstable();
        all.push((A::default(), 0));
        for pair in runs.chunks_exact(2) {
            if all.last().unwrap().0 < pair[0].0 && pair[0].0 < pair[1].0 {
                all.extend([pair[0], (pair[1].0, 0)]);
            }
        }
    }
    let (mut all_v4, mut all_v6) = (Vec::new(), Vec::new());
    runs(v4, &mut all_v4);
    runs(v6, &mut all_v6);
    ClassTable::new(all_v4, all_v6)
}
