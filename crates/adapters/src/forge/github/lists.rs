//! Lists that are read page by page.

use super::client::{Client, Page, Reader};
use drive_core::problem::{Kind, Problem};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::cell::Cell;

/// How many pages of one list are read.
const PAGES: usize = 50;

/// A page of a list inside an object, with the total number of items.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Listed<T> {
    pub(super) total: Option<u64>,
    pub(super) items: Vec<T>,
}

/// Reads several lists as one view. A forge may wrongly report that nothing changed, so data that
/// must be right is read with [`Reading::anew`].
pub(super) struct Reading<'a> {
    client: &'a Client,
    is_anew: bool,
    kept: Cell<bool>,
}

impl<'a> Reading<'a> {
    /// Reads only what changed since the last time.
    pub(super) fn conditional(client: &'a Client) -> Self {
        Self {
            client,
            is_anew: false,
            kept: Cell::new(false),
        }
    }

    /// Reads everything.
    pub(super) fn anew(client: &'a Client) -> Self {
        Self {
            is_anew: true,
            ..Self::conditional(client)
        }
    }

    /// Whether the forge reported of any resource that the cached one is current.
    pub(super) fn used_kept(&self) -> bool {
        self.kept.get()
    }

    /// Reads a resource; `None` if the forge reports that it does not exist.
    pub(super) fn get<T>(&self, url: &str, read: Reader<T>) -> Result<Option<Page<T>>, Problem>
    where
        T: Serialize + DeserializeOwned,
    {
        let page = if self.is_anew {
            self.client.get_unless_kept(url, read, None)?
        } else {
            self.client.get_optional(url, read)?
        };
        if page.as_ref().is_some_and(|page| page.is_kept) {
            self.kept.set(true);
        }
        Ok(page)
    }

    /// Reads all pages; `None` if the forge reports that the list does not exist.
    pub(super) fn pages<T>(&self, url: &str, read: Reader<T>) -> Result<Option<Vec<T>>, Problem>
    where
        T: Serialize + DeserializeOwned,
    {
        let mut all = Vec::new();
        let mut url = url.to_owned();
        for _ in 0..PAGES {
            let Some(page) = self.get(&url, read)? else {
                return Ok(None);
            };
            all.push(page.value);
            match page.next {
                Some(next) => url = next,
                None => return Ok(Some(all)),
            }
        }
        Err(too_long(self.client))
    }

    /// Reads a complete list of `what`. Fewer items than the forge counts are an error; `id`
    /// recognises an item that two pages contain.
    pub(super) fn list<T, I: Ord>(
        &self,
        (what, url): (&str, &str),
        read: Reader<Listed<T>>,
        id: impl Fn(&T) -> I,
    ) -> Result<Vec<T>, Problem>
    where
        T: Serialize + DeserializeOwned,
    {
        let pages = self.pages(url, read)?.ok_or_else(|| {
            let repo = self.client.repo();
            Problem::new(Kind::ForgeNotFound, format!("{what} not found in `{repo}`"))
                .hint("check that the token can see it")
        })?;
        let total = pages.iter().filter_map(|page| page.total).max();
        let mut items: Vec<T> = pages.into_iter().flat_map(|page| page.items).collect();
        items.sort_by_key(&id);
        items.dedup_by_key(|item| id(item));
        let count = u64::try_from(items.len()).unwrap_or(u64::MAX);
        match total.filter(|total| count < *total) {
            None => Ok(items),
            Some(total) => Err(Problem::new(
                Kind::ForgeAnswer,
                format!("read {count} of {total} {what} in `{}`", self.client.repo()),
            )
            .hint("the list may have changed meanwhile; drive retries")),
        }
    }
}

impl Client {
    /// Reads a complete list, page by page.
    pub(super) fn get_all<T>(&self, url: &str, read: Reader<Vec<T>>) -> Result<Vec<T>, Problem>
    where
        T: Serialize + DeserializeOwned,
    {
        let mut all = Vec::new();
        let mut url = url.to_owned();
        for _ in 0..PAGES {
            let page = self.get(&url, read)?;
            all.extend(page.value);
            match page.next {
                Some(next) => url = next,
                None => return Ok(all),
            }
        }
        Err(too_long(self))
    }
}

fn too_long(client: &Client) -> Problem {
    Problem::new(
        Kind::ForgeListTooLong,
        format!("a list of `{}` has more than {PAGES} pages", client.repo()),
    )
}
