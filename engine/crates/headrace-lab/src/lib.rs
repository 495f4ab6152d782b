//! Hosts in network namespaces of this machine, joined by paths with round trip, rate, loss and a finite queue: what `headrace lab` starts.
//!
//! Each host has one TUN device; a thread for each host reads what it sends and hands it on when its time has come. Devices have offloads, so
//! packets of up to 64 KiB pass whole and one processor carries many Gb/s; a loss takes one segment of the path's packet size out of them, as a
//! network would. Namespaces and devices belong to the process that carries: when it ends, however it ends, they are gone.

mod carrier;
mod device;
mod host;
mod lab;
mod line;
mod packet;
mod state;

pub use self::host::{Host, HostError, MAX_HOSTS};
pub use self::lab::{Lab, LabError, enter, stop};
pub use self::state::{Held, HostState, LabState, labs};
