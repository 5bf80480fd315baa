//! Files that tell where clients are: they are read again when one of them changes.

use std::sync::Arc;

use tokio::{sync::mpsc, task};

use super::{Daemon, log};
use crate::{
    config::{self, Checked},
    control::DataFileView,
    engine::Event,
    model::{Model, changes},
    refusal::{Problem, Refused},
    whereabouts::Watch,
};

/// What was read, with the text of the configuration that names the files.
pub(super) type Reread = (Arc<str>, Result<Checked, Refused>);

/// How the files stand.
pub(super) struct DataFiles {
    /// The text of the configuration in use: the file may say something else by now.
    text: Arc<str>,
    watch: Watch,
    /// For each file why what it says now is not in use.
    broken: Vec<Option<Problem>>,
    reread: mpsc::Sender<Reread>,
}

impl DataFiles {
    /// The files of a configuration that was just loaded from `text`; what is read again comes out of
    /// the receiver.
    pub(super) fn new(text: Arc<str>, model: &Model) -> (Self, mpsc::Receiver<Reread>) {
        let (reread, rereads) = mpsc::channel(1);
        let files = model.whereabouts.files();
        let data = Self {
            text,
            watch: Watch::new(files),
            broken: vec![None; files.len()],
            reread,
        };
        (data, rereads)
    }

    /// Another configuration has taken the place of the one in use.
    pub(super) fn replace(&mut self, text: Arc<str>, model: &Model) {
        let files = model.whereabouts.files();
        self.text = text;
        self.watch = Watch::new(files);
        self.broken = vec![None; files.len()];
    }
}

impl Daemon {
    /// Sees whether the files are others now, and has them read then: beside the loop, since tables of
    /// the whole internet take seconds.
    pub(super) fn look_at_data_files(&mut self) {
        let files = self.engine.model().whereabouts.files();
        let stamps = files.iter().map(|file| config::stamp(&file.path)).collect();
        if !self.data.watch.look(stamps) {
            return;
        }
        let (path, text) = (self.config.clone(), Arc::clone(&self.data.text));
        let reread = self.data.reread.clone();
        task::spawn_blocking(move || {
            let checked = config::load_text(&path, &text);
            let _the_daemon_ends = reread.blocking_send((text, checked));
        });
    }

    /// Takes up what was read, whole or not at all.
    pub(super) fn take_reread(&mut self, (text, checked): Reread) {
        if !Arc::ptr_eq(&text, &self.data.text) {
            // Of a configuration that is no longer in use.
            return;
        }
        self.data.watch.done();
        match checked.and_then(|checked| self.take_data(checked)) {
            Ok(()) => self.data.broken.fill(None),
            Err(refused) => {
                let files = self.engine.model().whereabouts.files();
                self.data.broken = self.data.watch.broken(files, &refused.errors);
                for problem in &refused.errors {
                    log::unused_data(problem);
                }
            }
        }
    }

    fn take_data(&mut self, checked: Checked) -> Result<(), Refused> {
        let changes = changes(self.engine.model(), &checked.model);
        let warnings = self.try_out(Event::Reload(Box::new(checked)))?;
        tracing::info!(?changes, "Data files were read anew.");
        warnings.iter().for_each(log::warn);
        Ok(())
    }

    /// How the files stand.
    pub(super) fn data_files(&self) -> Vec<DataFileView> {
        let files = self.engine.model().whereabouts.files();
        let files = files.iter().zip(&self.data.broken);
        let view = files.map(|(file, broken)| DataFileView {
            key: file.key.clone(),
            path: file.path.clone(),
            broken: broken.clone(),
        });
        view.collect()
    }
}
