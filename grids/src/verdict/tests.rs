//! What must hold of any verdict: to come.
