import t from "tap";
import { partitionReplicas, scaledValue, scaledValueOfFraction } from "./index.ts";

t.test("integers pass, percentages scale and round", (t) => {
  t.equal(scaledValue(3, 10, true), 3);
  t.equal(scaledValue("20%", 3, true), 1);
  t.equal(scaledValue("20%", 3, false), 0);
  t.equal(scaledValue("100%", 7, false), 7);
  t.equal(scaledValueOfFraction("33.3%", 10, true), 4);
  t.end();
});

t.test("errors are the API server's", (t) => {
  t.throws(() => scaledValue("5", 3, true), {
    message: "invalid value for IntOrString: invalid type: string is not a percentage",
  });
  t.throws(() => scaledValue("a%", 3, true), {
    message: 'invalid value for IntOrString: invalid value "a%": strconv.Atoi: parsing "a": invalid syntax',
  });
  t.throws(() => scaledValue("1.5%", 3, true), { code: "InvalidIntOrString" });
  t.throws(() => scaledValueOfFraction("x%", 3, true), /strconv.ParseFloat: parsing "x": invalid syntax/);
  t.throws(() => scaledValue(undefined, 3, true), { message: "nil value for IntOrString" });
  t.end();
});

t.test("a partition below 100% leaves one pod to update (rule 22)", (t) => {
  t.equal(partitionReplicas("99%", 4), 3);
  t.equal(partitionReplicas("50%", 5), 3);
  t.equal(partitionReplicas("100%", 4), 4);
  t.equal(partitionReplicas("99%", 1), 1);
  t.equal(partitionReplicas(9, 4), 4);
  t.equal(partitionReplicas(-1, 4), 0);
  t.equal(partitionReplicas(undefined, 4), 0);
  t.end();
});
