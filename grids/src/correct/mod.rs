//! Whether what was fast was also right: what an arm has to show before a number of its speed means anything.
//!
//! | module | what it shows |
//! |---|---|
//! | [`certificate`] | the gates that passed on these very sources and this checkpoint |
//! | [`agreement`] | what two arms answered to the same requests, token by token |

pub mod agreement;
pub mod certificate;

pub use agreement::Agreement;
pub use certificate::Certificate;
