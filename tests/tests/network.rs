//! The real daemon, real servers and real clients, each a host in the lab.

mod network {
    mod admin;
    mod affinity;
    mod all_down;
    mod by_way;
    mod control;
    mod data_files;
    mod edges;
    mod errors;
    mod failover;
    mod flows;
    mod fragments;
    mod full_nat;
    mod host_stack;
    mod interfaces;
    mod latency;
    mod log;
    mod metrics;
    mod neighbours;
    mod offloads;
    mod on_down;
    mod path_mtu;
    mod plan;
    mod policies;
    mod privileges;
    mod probes;
    mod proof;
    mod raw;
    mod refusals;
    mod reload;
    mod restart;
    mod rig;
    mod rules;
    mod state;
    mod steering;
    mod table;
    mod traceroute;
    mod unreachable;
    mod ways;
    mod without_daemon;
}
