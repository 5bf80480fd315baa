//! Against a server that everyone has.

use super::*;
use crate::probe::nginx::Nginx;

#[tokio::test]
async fn nginx_answers_200_and_404() {
    let nginx = Nginx::start(&[], |address| {
        format!("server {{ listen {address}; location = /healthz {{ return 200 fine; }} }}")
    })
    .await;
    let missing = |http| HttpProbe {
        path: "/missing".to_owned(),
        ..http
    };
    for http in [head(), get()] {
        let outcome = probe(nginx.address, &http, AMPLE).await;
        assert!(outcome.is_ok(), "{outcome:?}");
        let outcome = probe(nginx.address, &missing(http), AMPLE).await;
        assert_eq!(outcome, Err(Failure::Status(404)));
    }
}
