//! Who the shepherd acts as: the admin user for the cell's files, root only around the call that needs it.

use oxherd_sys::credentials;

/// The two identities. Without a real user id of 0 there is only one, and every step is done as it.
#[derive(Debug, Clone, Copy)]
pub struct Privilege {
    /// The program may become root.
    pub root: bool,
    admin_uid: u32,
}

impl Privilege {
    /// Drops to the admin user: the effective one below execd, else the owner of the job directory.
    #[must_use]
    pub fn drop_to_admin(directory_owner: (u32, u32)) -> Self {
        let user = credentials::user_ids();
        let root = user.real == 0;
        let mut admin_uid = user.effective;
        if root && user.effective == 0 && directory_owner.0 != 0 {
            // The group goes first: it needs the privilege that the user then gives up.
            let group = credentials::set_effective_group(directory_owner.1);
            if group.and_then(|()| credentials::set_effective_user(directory_owner.0)).is_ok() {
                admin_uid = directory_owner.0;
            }
        }
        Self { root, admin_uid }
    }

    /// Runs a few system calls as root, where that is possible.
    pub fn as_root<T>(self, action: impl FnOnce() -> T) -> T {
        if !self.root || self.admin_uid == 0 {
            return action();
        }
        // With a real user id of 0 both changes always succeed; if not, the action fails with EPERM and says so.
        let _ = credentials::set_effective_user(0);
        let result = action();
        let _ = credentials::set_effective_user(self.admin_uid);
        result
    }

    /// Whether a user may give orders: root and the admin user, or whose process this is.
    #[must_use]
    pub fn obeys(self, user: u32) -> bool {
        user == 0 || user == self.admin_uid
    }

    /// Becomes root for good, in a child that gives it up again on its way to exec.
    pub fn raise(self) {
        if self.root && self.admin_uid != 0 {
            let _ = credentials::set_effective_user(0);
        }
    }
}
