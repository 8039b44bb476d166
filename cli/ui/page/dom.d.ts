/**
 * What the page uses of a browser. TypeScript's own `dom` library cannot be in one program with the types of Node that are used here:
 * both declare the keys of WebCrypto, in different versions.
 */

interface PageElement {
  className: string;
  tabIndex: number;
  readonly clientWidth: number;
  readonly dataset: Record<string, string>;
  readonly style: { height: string };
  readonly textContent: string;
  getAttribute(name: string): string | null;
  setAttribute(name: string, value: string): void;
  focus(): void;
  scrollIntoView(): void;
  replaceChildren(): void;
}

interface PointerPosition extends Event {
  readonly offsetX: number;
  readonly offsetY: number;
}

interface KeyPress extends Event {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
}

interface HTMLElement extends PageElement {}
declare const HTMLElement: { new (): HTMLElement };

interface HTMLInputElement extends PageElement {
  value: string;
  readonly max: string;
}
declare const HTMLInputElement: { new (): HTMLInputElement };

interface HTMLSelectElement extends PageElement {
  value: string;
}
declare const HTMLSelectElement: { new (): HTMLSelectElement };

interface HTMLButtonElement extends PageElement {
  value: string;
}
declare const HTMLButtonElement: { new (): HTMLButtonElement };

interface HTMLDetailsElement extends PageElement {
  open: boolean;
}
declare const HTMLDetailsElement: { new (): HTMLDetailsElement };

interface HTMLDialogElement extends PageElement {
  readonly open: boolean;
  showModal(): void;
  close(): void;
  addEventListener(type: "close", listener: () => void): void;
}

interface HTMLCanvasElement extends PageElement {
  width: number;
  height: number;
  getContext(kind: "2d"): CanvasRenderingContext2D | null;
  addEventListener(
    type: "pointermove" | "pointerleave" | "click",
    listener: (event: PointerPosition) => void,
  ): void;
  addEventListener(type: "keydown", listener: (event: KeyPress) => void): void;
}

interface CanvasRenderingContext2D {
  fillStyle: string;
  strokeStyle: string;
  lineWidth: number;
  globalAlpha: number;
  font: string;
  textBaseline: string;
  setTransform(a: number, b: number, c: number, d: number, e: number, f: number): void;
  clearRect(x: number, y: number, width: number, height: number): void;
  fillRect(x: number, y: number, width: number, height: number): void;
  fillText(text: string, x: number, y: number): void;
  measureText(text: string): { readonly width: number };
  beginPath(): void;
  closePath(): void;
  moveTo(x: number, y: number): void;
  lineTo(x: number, y: number): void;
  arc(x: number, y: number, radius: number, from: number, to: number): void;
  roundRect(x: number, y: number, width: number, height: number, radius: number): void;
  setLineDash(lengths: readonly number[]): void;
  fill(): void;
  stroke(): void;
}

declare const document: {
  title: string;
  getElementById(id: string): HTMLElement | null;
  querySelector(selector: string): HTMLElement | null;
  querySelectorAll(selector: string): Iterable<HTMLElement>;
  createElement(name: "canvas"): HTMLCanvasElement;
  createElement(name: "dialog"): HTMLDialogElement;
  readonly body: { append(element: PageElement): void };
};

declare const location: { hash: string };
declare const devicePixelRatio: number;

declare class ResizeObserver {
  constructor(changed: () => void);
  observe(element: PageElement): void;
}

declare function matchMedia(query: string): {
  addEventListener(type: "change", listener: () => void): void;
};
declare function getComputedStyle(element: PageElement): {
  readonly fontFamily: string;
  getPropertyValue(name: string): string;
};
declare function requestAnimationFrame(draw: () => void): number;
declare function scrollTo(x: number, y: number): void;
declare function addEventListener(type: "hashchange", listener: () => void): void;
declare function addEventListener(type: "keydown", listener: (event: KeyPress) => void): void;

interface Navigator {
  readonly clipboard: { writeText(text: string): Promise<void> };
}
