//! From what is known of a group's members to each member's part of the traffic. Pure.
