import { describe, expect, it } from "vitest";
import { fromSearch, requestOf, sameRequest, toSearch, type Asked } from "./asked";
import { EMPTY, fromAddress, fromIntent, resulting, toAddress, toIntent, type Draft } from "./intent";

const whole: Draft = { ...EMPTY, source: "a:/x", destination: "b:/y" };

describe("a draft", () => {
  it.each([
    ["rate", { rate: "3 gigs" }],
    ["rate", { rate: "0 b/s" }],
    ["size", { minSize: "many" }],
    ["size", { maxSize: "10 Gb" }],
    ["time", { after: "?" }],
    ["streams", { streams: "65" }],
    ["streams", { streams: "many" }],
    ["unit", { unit: "3 MiB" }],
    ["unit", { unit: "128 KiB" }],
    ["source", { source: " " }],
    ["destination", { destination: "" }],
  ] as const)("with a bad %s is no intent, and never one without that limit", (lacks, part) =>
    expect(toIntent({ ...whole, ...part })).toEqual({ intent: null, lacks }));

  it("keeps every limit", () => {
    const { intent } = toIntent({ ...whole, rate: "3 Gb/s", minSize: "1 kB", maxSize: "2 GiB", include: "*.mrc\n\n *.tif ", exclude: "*.tmp" });
    expect(intent).toMatchObject({
      rate_limit_bps: 3_000_000_000,
      min_size_bytes: 1000,
      max_size_bytes: 2_147_483_648,
      include: ["*.mrc", "*.tif"],
      exclude: ["*.tmp"],
    });
  });

  it("names the project, and none where the field is empty", () => {
    expect(toIntent({ ...whole, project: " cryo-em " }).intent).toMatchObject({ project: "cryo-em" });
    expect(toIntent(whole).intent).toMatchObject({ project: null });
    expect(fromAddress(toAddress({ ...whole, project: "cryo-em" }))).toMatchObject({ project: "cryo-em" });
  });

  it("of an intent makes the same intent, to the last bit and second", () => {
    const { intent } = toIntent({ ...whole, rate: "1 b/s", unseen: { priority: "high", deadline: "2026-01-01T00:00:00Z" } });
    const odd = { ...intent, action: "sync", delete_extraneous: true, rate_limit_bps: 1_234_567_891, min_size_bytes: 1_234_567, project: "cryo-em", modified_after: "2026-01-02T03:04:05.000Z" } as const;
    expect(intent).not.toBeNull();
    if (intent !== null) expect(toIntent(fromIntent({ ...intent, ...odd })).intent).toEqual({ ...intent, ...odd });
  });

  it("asks for the streams and the unit that it was made with, beside its intent", () => {
    const { intent } = toIntent(whole);
    const draft = intent === null ? whole : fromIntent(intent, { streams: 4, unit_bytes: 2 ** 19 });
    expect(draft).toMatchObject({ streams: "4", unit: "512 KiB" });
    expect(requestOf({ text: "", draft, rules: "form" }).request).toMatchObject({ intent: { source: "a:/x" }, tuning: { streams: 4, unit_bytes: 2 ** 19 } });
    expect(requestOf({ text: "", draft: whole, rules: "form" }).request).toMatchObject({ tuning: null });
  });

  it("deletes nothing extra unless it is a sync", () => {
    expect(toIntent({ ...whole, action: "copy", deleteExtraneous: true }).intent?.delete_extraneous).toBe(false);
  });

  it("survives an address, and what an address may not hold is left out", () => {
    const draft: Draft = { ...whole, rate: "3 gigs", onConflict: "skip", preserve: [], encryption: false, streams: "9", unit: "a lot", unseen: { priority: "low", window: ["22:00", "06:00"], start: null, deadline: null, repeat: null } };
    expect(fromAddress(JSON.parse(JSON.stringify(toAddress(draft))))).toEqual(draft);
    expect(fromAddress({ action: "erase", preserve: "all", encryption: "no", source: { a: 1 } })).toEqual(EMPTY);
    expect(fromAddress("form")).toBeUndefined();
  });
});

describe("what will be where", () => {
  it.each([
    ["a:/run42", "b:/2026/", "b:/2026/run42"],
    ["a:/run42", "b:/2026", "b:/2026"],
    ["a:/run42/", "b:/2026/", "b:/2026"],
    ["a:/x/film.tiff", "b:/", "b:/film.tiff"],
    ["a:/", "b:/2026/", "b:/2026"],
    ["a:/", "b:/", "b:/"],
  ])("%s to %s is %s", (source, destination, where) => expect(resulting(source, destination)?.where).toBe(where));
  it("is not said before both are named", () => expect(resulting("a:/x", "")).toBeNull());
});

describe("what is asked", () => {
  const words: Asked = { text: "copy a:/x to b:/y", draft: whole, rules: "words" };
  it("is what was edited last", () => {
    expect(requestOf(words).request).toEqual({ words: words.text });
    expect(requestOf({ ...words, rules: "form" }).request).toHaveProperty("intent.source", "a:/x");
    expect(requestOf({ ...words, text: " " }).lacks).toBe("words");
    expect(requestOf({ ...words, rules: "form", draft: { ...whole, rate: "x" } }).lacks).toBe("rate");
  });
  it("is the same only for the same words, and for the same form", () => {
    expect(sameRequest({ ...words, text: ` ${words.text} ` })).toBe(sameRequest(words));
    expect(sameRequest({ ...words, text: "copy a:/x to b:/z" })).not.toBe(sameRequest(words));
    expect(sameRequest({ ...words, rules: "form" })).not.toBe(sameRequest(words));
    expect(sameRequest({ ...words, rules: "form", draft: { ...whole, rate: "x" } })).not.toBe(sameRequest({ ...words, rules: "form" }));
  });
  it("survives an address", () => {
    for (const asked of [words, { ...words, rules: "form" } as const]) expect(sameRequest(fromSearch(toSearch(asked)))).toBe(sameRequest(asked));
  });
});
