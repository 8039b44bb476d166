export * from "./default.ts";
export {
  everFires,
  type FieldValues,
  parseSchedule,
  type Schedule,
} from "./schedule.ts";
export * from "./schema.ts";
export * from "./validate.ts";
export * from "./warnings.ts";
