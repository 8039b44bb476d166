import type { Access } from "./credentials_types.ts";

/** What an exchange needs of a pool of connections: the part of undici's dispatcher that is used here. */
export interface Sender {
  dispatch(request: SendRequest, handler: SendHandler): void;
  /** Requests under way may finish. */
  close(): Promise<void>;
  /** Cuts what is under way. */
  destroy(): Promise<void>;
}

export interface SendRequest {
  origin: string;
  /** Path and query, as sent. */
  path: string;
  method: string;
  headers: Readonly<Record<string, string | string[]>>;
  body: string | null;
}

export interface SendHandler {
  /** The connection stands; from now on the server may have seen the request. */
  onRequestStart(controller: SendController): void;
  onResponseStart(controller: SendController, status: number, headers: RawHeaders): void;
  onResponseData(controller: SendController, chunk: Uint8Array): void;
  onResponseEnd(): void;
  onResponseError(controller: SendController, error: Error): void;
}

export type RawHeaders = Readonly<Record<string, string | string[] | undefined>>;

export interface SendController {
  abort(reason: Error): void;
  pause(): void;
  resume(): void;
}

export interface SenderSettings {
  /** Null: as many as there are exchanges. */
  readonly connections: number | null;
  /** A connection that does not stand after so long is given up. */
  readonly connectMs: number;
}

/** Makes a pool for one server. Throws KubeError `Config` for a proxy of an unknown kind. */
export type OpenSender = (access: Access, settings: SenderSettings) => Sender;
