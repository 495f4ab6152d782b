//! The greeting, for `engine/fuzz`.

use std::io::Cursor;
use std::time::Duration;

use super::greeting::{FromFar, ToFar, check_addresses, receive};
use crate::transport::Wire;

/// Read these bytes as a greeting, as either side.
pub fn greeting(bytes: &[u8]) {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
    else {
        return;
    };
    let wire = || -> Box<dyn Wire> {
        Box::new(tokio::io::join(
            Cursor::new(bytes.to_vec()),
            tokio::io::sink(),
        ))
    };
    runtime.block_on(async {
        let within = Duration::from_secs(10);
        if let Ok(ToFar::Go { advertise }) = receive(&mut wire(), within).await {
            drop(check_addresses(&advertise));
        }
        if let Ok(heard) = receive::<FromFar>(&mut wire(), within).await {
            drop(heard.or_refused());
        }
    });
}
