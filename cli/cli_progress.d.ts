/** The part of cli-progress that is used here; the package brings no types. */
declare module "cli-progress" {
  export interface BarOptions {
    format: string | ((options: BarOptions, params: BarParams, payload: Record<string, unknown>) => string);
    stream?: NodeJS.WritableStream;
    hideCursor?: boolean;
    gracefulExit?: boolean;
    forceRedraw?: boolean;
    fps?: number;
    emptyOnZero?: boolean;
  }
  export interface BarParams {
    readonly progress: number;
    readonly total: number;
    readonly value: number;
  }
  export interface SingleBar {
    update(value: number, payload?: Record<string, unknown>): void;
  }
  export class MultiBar {
    constructor(options: BarOptions);
    create(total: number, value: number, payload?: Record<string, unknown>): SingleBar;
    update(): void;
    stop(): void;
  }
  const progress: { MultiBar: typeof MultiBar };
  export default progress;
}
