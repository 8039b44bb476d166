export { defaultAdvancedCronJob } from "./default.ts";
export {
  everFires,
  type FieldValues,
  parseSchedule,
  type Schedule,
} from "./schedule.ts";
export * from "./schema.ts";
export { validateAdvancedCronJob } from "./validate.ts";
export { advancedCronJobWarnings } from "./warnings.ts";
