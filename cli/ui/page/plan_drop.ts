/** Manifests that are dropped onto the page, or chosen as files. */
import { longestPlanRequest } from "../shared/plans.ts";
import type { Planner } from "./planner.ts";

/** `isOpen`: whether the page shows something that can be planned. A browser opens what nobody takes in place of the page. */
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
  // A folder is a file that cannot be read.
  await planner.take(
    file?.name ?? "",
    Promise.resolve(text).catch(() => undefined),
  );
}
