-- The ledger of decisions (judgement_ledger.h): the basis of verdicts, as sentences written down at that time.
CREATE TABLE judgements (
  judgement_key INTEGER PRIMARY KEY,
  judgement_id  TEXT NOT NULL UNIQUE,  -- of a comparison in pairs its id, of a night its sweep
  kind          TEXT NOT NULL CHECK (kind IN ('pairs', 'baseline', 'night')),
  matrix        TEXT NOT NULL,
  made_utc      TEXT NOT NULL
) STRICT;
CREATE TABLE judgement_lines (
  judgement_key INTEGER NOT NULL REFERENCES judgements,
  position      INTEGER NOT NULL,  -- counted from 0
  cell          TEXT NOT NULL,     -- label; '' for all
  metric        TEXT NOT NULL,     -- '' for the cell as a whole
  part          TEXT NOT NULL      -- what the sentence is about: LedgerPart
    CHECK (part IN ('rule', 'reference', 'nights', 'look', 'answer', 'note', 'alert')),
  text          TEXT NOT NULL,     -- of an alert its id
  PRIMARY KEY (judgement_key, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX judgement_lines_of_alerts ON judgement_lines (text) WHERE part = 'alert';
