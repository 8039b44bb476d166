/** What dropping a manifest uses of a browser, beside dom.d.ts. */

interface HTMLTextAreaElement extends PageElement {
  value: string;
}
declare const HTMLTextAreaElement: { new (): HTMLTextAreaElement };

interface DroppedFile {
  readonly name: string;
  readonly size: number;
  text(): Promise<string>;
}

interface HTMLInputElement {
  readonly files: ArrayLike<DroppedFile> | null;
}

interface FileDrag extends Event {
  readonly dataTransfer: {
    readonly types: readonly string[];
    readonly files: ArrayLike<DroppedFile>;
    dropEffect: string;
  } | null;
  /** Where a pointer that leaves goes to; null outside of the window. */
  readonly relatedTarget: EventTarget | null;
}

declare function addEventListener(
  type: "dragover" | "dragleave" | "drop",
  listener: (event: FileDrag) => void,
): void;
