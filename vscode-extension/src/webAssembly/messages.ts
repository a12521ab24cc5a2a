/** Folders: Pyodide's, those of the Python packages in the order of `LIBS`, and one of our own that may be written to. */
export interface WorkerData {
  pyodide: string;
  libs: [string, string];
  cache: string;
}

/** A message of the server to its client, or a line for the log. */
export type FromWorker = { body: string } | { log: string };
