// Writes zod.json: JSON Schemas that zod 4.6.7 makes of types that tools use, with values that zod accepts and refuses.
//   npm install zod@4.6.7 && node make.mjs > zod.json
import * as z from "zod";

const s = z;
const tree = z.object({ value: z.string(), get children() { return z.array(tree); } });
const list = z.object({ value: z.number(), get next() { return list.optional(); } });
const filter = z.union([
  z.object({ get and() { return z.array(filter); } }),
  z.object({ get or() { return z.array(filter); } }),
  z.object({ get not() { return filter; } }),
  z.object({ field: z.string(), eq: z.json() }),
]);
const expr = z.lazy(() => z.discriminatedUnion("op", [
  z.object({ op: z.literal("and"), args: z.array(expr) }),
  z.object({ op: z.literal("or"), args: z.array(expr) }),
  z.object({ op: z.literal("not"), arg: expr }),
  z.object({ op: z.literal("var"), name: z.string() }),
]));
const a = z.object({ kind: z.literal("a"), get b() { return b.nullable(); } });
const b = z.object({ kind: z.literal("b"), get a() { return a.nullable(); } });

const types = {
  string: [z.string(), ["x"], [1]],
  email: [z.email(), ["a.b@example.com"], ["a"]],
  emailHTML5: [z.email({ pattern: z.regexes.html5Email }), ["a@example.com"], ["a"]],
  emailUnicode: [z.email({ pattern: z.regexes.unicodeEmail }), ["ä@example.com"], []],
  uuid: [z.uuid(), ["123e4567-e89b-42d3-a456-426614174000"], ["x"]],
  uuidv7: [z.uuidv7(), ["0190163d-8694-739b-aea5-966c26f8ad91"], ["x"]],
  guid: [z.guid(), ["00000000-1111-2222-3333-444444444444"], ["x"]],
  url: [z.url(), ["https://example.com/a?b=c#d"], ["x y"]],
  httpUrl: [z.httpUrl(), ["https://example.com/"], []],
  hostname: [z.hostname(), ["a-b.example.com", "localhost"], []],
  emoji: [z.emoji(), ["😀"], []],
  base64: [z.base64(), ["", "YWI=", "YWJj"], ["*"]],
  base64url: [z.base64url(), ["YWI", "_-8"], ["*"]],
  hex: [z.hex(), ["00ff"], ["x"]],
  jwt: [z.jwt(), ["eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxIn0.c2ln"], []],
  nanoid: [z.nanoid(), ["V1StGXR8_Z5jdHi6B-myT"], ["x"]],
  cuid: [z.cuid(), ["cjld2cjxh0000qzrmn831i7rn"], ["x"]],
  cuid2: [z.cuid2(), ["tz4a98xxat96iws9zmbrgj3a"], ["-"]],
  ulid: [z.ulid(), ["01ARZ3NDEKTSV4RRFFQ69G5FAV"], ["x"]],
  xid: [z.xid(), ["9m4e2mr0ui3e8a215n4g"], ["x"]],
  ksuid: [z.ksuid(), ["0ujsszwN8NRY24YaXiTIE2VWDTS"], ["x"]],
  ipv4: [z.ipv4(), ["192.168.0.1"], ["1.2.3"]],
  ipv6: [z.ipv6(), ["::1", "2001:db8::1"], ["x"]],
  cidrv4: [z.cidrv4(), ["10.0.0.0/8"], ["10.0.0.0"]],
  cidrv6: [z.cidrv6(), ["2001:db8::/32"], []],
  mac: [z.mac(), ["00:1a:2b:3c:4d:5e"], ["x"]],
  e164: [z.e164(), ["+4930123456"], ["x"]],
  hash: [z.hash("sha256"), ["e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"], ["x"]],
  datetime: [z.iso.datetime(), ["2026-11-22T09:00:00Z", "2026-11-22T09:00:00.123Z"], ["2026-11-22"]],
  datetimeOffset: [z.iso.datetime({ offset: true }), ["2026-11-22T09:00:00+01:00"], ["x"]],
  date: [z.iso.date(), ["2026-11-22", "2024-02-29"], ["2026-13-01"]],
  time: [z.iso.time(), ["09:00:00"], ["25:00:00"]],
  duration: [z.iso.duration(), ["P3Y6M4DT12H30M5S", "PT5M"], []],
  regex: [z.string().regex(/^[a-z]+$/), ["abc"], ["A"]],
  lookahead: [z.string().regex(/^(?=.*\d)(?=.*[a-z]).{4,}$/), ["abc1"], []],
  lookbehind: [z.string().regex(/(?<=\$)\d+/), ["$5"], []],
  backreference: [z.string().regex(/^(.)\1$/), ["aa"], []],
  unicodeEscape: [z.string().regex(/^[\u00e0-\u00ff]+$/), ["é"], []],
  affixes: [z.string().startsWith("a.").endsWith("?z").includes("(m)").min(3).max(20), ["a.(m)?z"], ["abc"]],
  template: [z.templateLiteral(["v", z.number(), ".", z.enum(["alpha", "beta"])]), ["v1.alpha"], ["x"]],
  stringbool: [z.stringbool(), ["true"], []],
  number: [z.number().min(-1).max(10.5).multipleOf(0.5), [10.5, -1], [11]],
  integer: [z.int().positive(), [1], [0, 1.5]],
  int32: [z.int32(), [-2147483648], [2147483648]],
  uint32: [z.uint32(), [4294967295], [-1]],
  float32: [z.float32(), [1.5], []],
  boolean: [z.boolean(), [true], ["true"]],
  nullable: [z.string().nullable(), [null, "x"], [1]],
  optional: [z.string().optional(), ["x"], [1]],
  defaulted: [z.number().default(3), [4], ["x"]],
  literal: [z.literal("x"), ["x"], ["y"]],
  literals: [z.literal(["a", 1, null, true]), ["a", 1, null, true], ["b", 2]],
  enumeration: [z.enum(["a", "b"]), ["b"], ["c"]],
  emptyEnum: [z.enum([]), [], ["a"]],
  never: [z.never(), [], [1, null]],
  unknown: [z.unknown(), [1, null, {}], []],
  json: [z.json(), [null, 1, "x", [1, [2, {}]], { a: { b: [true] } }], []],
  array: [z.array(z.string()).min(1).max(3), [["a"]], [[], ["a", "b", "c", "d"]]],
  tuple: [z.tuple([z.string(), z.number()]), [["a", 1]], [["a"], ["a", 1, 2]]],
  tupleRest: [z.tuple([z.string()], z.number()), [["a"], ["a", 1, 2]], [["a", "b"]]],
  object: [z.object({ a: z.string(), b: z.number().optional() }), [{ a: "x" }], [{ b: 1 }]],
  strict: [z.strictObject({ a: z.string() }), [{ a: "x" }], [{ a: "x", b: 1 }]],
  loose: [z.looseObject({ a: z.string() }), [{ a: "x", b: 1 }], [{}]],
  catchall: [z.object({ a: z.string() }).catchall(z.number()), [{ a: "x", b: 1 }], [{ a: "x", b: "y" }]],
  record: [z.record(z.string(), z.number()), [{ a: 1 }], [{ a: "x" }]],
  recordOfEnum: [z.partialRecord(z.enum(["a", "b"]), z.number()), [{ a: 1 }, {}], [{ c: 1 }]],
  recordOfPattern: [z.record(z.string().regex(/^x-(?!y)/), z.number()), [{ "x-a": 1 }], [{ "x-a": "b" }]],
  union: [z.union([z.string(), z.number()]), ["x", 1], [true]],
  unionOfObjects: [z.union([z.object({ path: z.string() }), z.object({ url: z.url() })]), [{ path: "a" }], [{}]],
  discriminated: [z.discriminatedUnion("k", [z.object({ k: z.literal("a"), n: z.number() }), z.object({ k: z.literal("b"), s: z.string() })]),
    [{ k: "a", n: 1 }, { k: "b", s: "x" }], [{ k: "a", s: "x" }]],
  exclusive: [z.xor([z.object({ host: z.hostname() }), z.object({ id: z.int() })]), [{ host: "example.com" }, { id: 1 }], []],
  intersection: [z.intersection(z.object({ a: z.string() }), z.object({ b: z.number() })), [{ a: "x", b: 1 }], [{ a: "x" }]],
  tree: [tree, [{ value: "a", children: [{ value: "b", children: [] }] }], [{ value: "a" }]],
  linkedList: [list, [{ value: 1, next: { value: 2 } }], [{ next: {} }]],
  mutual: [a, [{ kind: "a", b: { kind: "b", a: null } }], [{ kind: "b" }]],
  filter: [filter, [{ and: [{ field: "a", eq: [1, { b: 2 }] }, { not: { or: [] } }] }], [{ xor: [] }]],
  expression: [expr, [{ op: "and", args: [{ op: "not", arg: { op: "var", name: "x" } }] }], [{ op: "xor", args: [] }]],
  branded: [z.string().brand("id"), ["x"], [1]],
  readonly: [z.array(z.string()).readonly(), [["x"]], [1]],
  piped: [z.string().pipe(z.enum(["a"])), ["a"], []],
  described: [z.string().describe("A name.").meta({ title: "Name", examples: ["x"], deprecated: true }), ["x"], [1]],
  preprocessed: [z.coerce.number(), [1], []],
};

const out = [];
for (const [name, [type, good, bad]] of Object.entries(types)) {
  for (const v of good) if (!type.safeParse(v).success) throw new Error(`${name}: zod refuses ${JSON.stringify(v)}`);
  for (const v of bad) if (type.safeParse(v).success) throw new Error(`${name}: zod accepts ${JSON.stringify(v)}`);
  for (const target of ["draft-2020-12", "draft-07"]) {
    const schema = z.toJSONSchema(z.object({ v: type }), { target, io: "input", unrepresentable: "any" });
    out.push({ name: `${name}, ${target}`, schema, good: good.map((v) => ({ v })), bad: bad.map((v) => ({ v })) });
  }
}
console.log("[\n" + out.map((o) => JSON.stringify(o)).join(",\n") + "\n]");
