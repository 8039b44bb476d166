/** Manifests that are dropped onto the page, or chosen as files. */
import { html, nothing, type TemplateResult } from "lit-html";
import { longestPlanRequest } from "../shared/plans.ts";
import type { Planner } from "./planner.ts";

/** `isOpen`: whether the page shows what is now, from a server. A browser opens what nobody takes in place of the page. */
export function takeDrops(planner: Planner, isOpen: () => boolean, changed: () => void): void {
  const show = (isDropping: boolean): void => {
    if (planner.isDropping === isDropping) return;
    planner.isDropping = isDropping;
    changed();
  };
  addEventListener("dragover", (event) => {
    if (event.dataTransfer?.types.includes("Files") !== true) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = isOpen() ? "copy" : "none";
    show(isOpen());
  });
  addEventListener("dragleave", ({ relatedTarget }) => {
    if (relatedTarget === null) show(false);
  });
  addEventListener("drop", (event) => {
    if (event.dataTransfer?.types.includes("Files") !== true) return;
    event.preventDefault();
    show(false);
    if (isOpen()) void takeFiles(planner, event.dataTransfer.files);
  });
}

export async function takeFiles(planner: Planner, files: ArrayLike<DroppedFile>): Promise<void> {
  const file = files.length === 1 ? files[0] : undefined;
  const text = file === undefined || file.size > longestPlanRequest ? undefined : file.text();
  const unread =
    files.length > 1
      ? `These are ${files.length} files: one is planned at a time. Drop one, or one file that holds all objects.`
      : "This file cannot be planned: it must be a file, no folder, of at most 1 MB.";
  // A folder is a file that cannot be read.
  await planner.take(
    file?.name ?? "",
    Promise.resolve(text).catch(() => undefined),
    unread,
  );
}

/** While a file is held over the page. */
export function dropHint({ isDropping }: Planner): TemplateResult | typeof nothing {
  if (!isDropping) return nothing;
  return html`<div class="drop-here"><p>Drop the manifest to see what would happen. Nothing is applied.</p></div>`;
}
