/** `refit ui --record FILE.html`. */
import { randomBytes } from "node:crypto";
import type { Call } from "../../command.ts";
import { fileReason } from "../../file_reason.ts";
import type { Assets } from "../http/assets.ts";
import { Recorder, type RecorderOptions } from "./recorder.ts";
import { recordingDocument } from "./recording_document.ts";
import { mostBytes, RecordingFile } from "./recording_file.ts";

export interface RunningRecording {
  opened(key: string): void;
  /** Resolves when the file is complete. */
  stop(): Promise<void>;
}

type Sources = Pick<RecorderOptions, "fleet" | "open">;

/** Throws CliError when the file is there already, or cannot be written. */
export async function startRecording(
  call: Call,
  path: string,
  assets: Assets,
  sources: Sources,
): Promise<RunningRecording> {
  const file = await RecordingFile.create(
    path,
    recordingDocument(assets, randomBytes(18).toString("base64url")),
  );
  const recorder = new Recorder({
    ...sources,
    clock: call.host.clock,
    write: (lines) => file.write(lines),
    ended: (error) => call.warn(endLine(path, error)),
  });
  return {
    opened: (key) => recorder.opened(key),
    stop: async () => {
      await recorder.stop();
      // Where writing failed, this fails as well, and that was said.
      await file.end("stopped").catch(() => undefined);
    },
  };
}

function endLine(path: string, error: unknown): string {
  if (error !== undefined)
    return `The recording ends here: cannot write ${path}: ${fileReason(error)}. The page goes on.`;
  const size = mostBytes / 1024 / 1024;
  return `The recording ends here: ${path} has its largest size, ${size} MB. The page goes on; record to another file.`;
}
