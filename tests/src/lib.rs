//! The lab: hosts in network namespaces.
