//! A service whose address and port the edge itself serves too.

use lb_tests::lab::{Daemon, Lab, Nginx, SERVICE, WebServer, client::fetch, program};

use super::rig::{PORT, WEB, lab, reload, start, tables, wait_all_up, wait_log};

const WARNING: &str = "203.0.113.10 port 80 is also served on this host";

/// The edge has the service address, and a server on its port.
fn serve_on_the_edge(lab: &Lab) -> WebServer {
    lab.edge()
        .ip(&[&format!("address add {SERVICE}/32 dev lo")]);
    WebServer::start(lab.edge(), "edge-1", PORT)
}

fn answering(lab: &Lab) -> String {
    fetch(lab.client(), WEB, "/").expect("an answer").backend
}

#[test]
fn a_service_that_the_edge_itself_listens_on_is_warned_of() {
    let lab = lab(1);
    let _server = Nginx::start(&lab.backends[0], PORT);
    let _own = serve_on_the_edge(&lab);
    let daemon = start(&lab, &[1]);
    wait_all_up(&daemon, 1);
    wait_log(&daemon, WARNING);
    assert_eq!(answering(&lab), "backend-1");

    let check = format!(
        "{} check {}",
        program("waggle").display(),
        daemon.config().display()
    );
    let checked = lab.edge().outcome(&check);
    assert!(
        checked.ok() && checked.stderr.contains(WARNING),
        "{checked:?}"
    );
    let elsewhere = lab.client().outcome(&check);
    assert!(
        elsewhere.ok() && elsewhere.stderr.is_empty(),
        "{elsewhere:?}"
    );
    let said = daemon.waggle(&["reload"]);
    assert!(said.ok() && said.stdout.contains(WARNING), "{said:?}");
}

#[test]
fn packets_of_a_withdrawn_service_pass_to_the_host_again() {
    let lab = lab(1);
    let _server = Nginx::start(&lab.backends[0], PORT);
    let _own = serve_on_the_edge(&lab);
    let daemon = start(&lab, &[1]);
    wait_all_up(&daemon, 1);
    assert_eq!(answering(&lab), "backend-1");

    let elsewhere = tables(&[1])
        .replace("kind = \"http\"", "kind = \"http\", port = 80")
        .replace("port = 80\n", "port = 81\n");
    withdraw(&daemon, &elsewhere);
    assert_eq!(answering(&lab), "edge-1");
    assert!(reload(&daemon, &tables(&[1])).ok());
    wait_all_up(&daemon, 1);
    assert_eq!(answering(&lab), "backend-1");

    let (without_service, _) = elsewhere.split_once("[[service]]").unwrap();
    withdraw(&daemon, without_service);
    assert_eq!(answering(&lab), "edge-1");
}

#[track_caller]
fn withdraw(daemon: &Daemon<'_>, tables: &str) {
    let said = reload(daemon, tables);
    assert!(said.ok() && said.stdout.contains("service web"), "{said:?}");
}
