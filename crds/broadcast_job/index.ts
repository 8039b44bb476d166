export { defaultBroadcastJob } from "./default.ts";
export * from "./schema.ts";
export {
  broadcastJobNameLabel,
  broadcastJobUidLabel,
  parallelismOf,
  validateBroadcastJob,
} from "./validate.ts";
