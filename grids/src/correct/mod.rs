//! Whether what was fast was also right: what an arm has to show before a number of its speed means anything.
//!
//! | module | what it shows |
//! |---|---|
//! | [`certificate`] | the gates that pass for one arm, at the present |
//! | [`mod@correctness`] | certificates of all arms of a series, and what stands against the others |
//! | [`agreement`] | what two arms answered to the same requests, token by token |

pub mod agreement;
pub mod certificate;
pub mod correctness;

pub use agreement::Agreement;
pub use certificate::Certificate;
pub use correctness::{Correctness, correctness};
