import { describe, expect, it } from "vitest";
import { nowIn, week } from "./week";

describe("the picture of a week", () => {
  it("ends hours over midnight on the next day, and joins what touches", () => {
    const spans = week({
      hours: [
        { days: ["fri", "sun"], opens: "20:00", closes: "06:00" },
        { days: ["sat"], opens: "06:00", closes: "24:00" },
      ],
    });
    expect(spans.fri).toEqual([{ from: 1200, until: 1440 }]);
    expect(spans.sat).toEqual([{ from: 0, until: 1440 }]);
    expect(spans.mon).toEqual([{ from: 0, until: 360 }]);
    expect(spans.tue).toEqual([]);
  });

  it("takes hours that end at midnight for those of one day", () => {
    expect(week({ hours: [{ days: ["mon"], opens: "20:00", closes: "00:00" }] })).toMatchObject({ mon: [{ from: 1200, until: 1440 }], tue: [] });
  });

  it("says which minute of which day it is in the calendar's zone", () => {
    expect(nowIn("Europe/Berlin", new Date("2026-11-29T23:30:00Z"))).toEqual({ day: "mon", minute: 30 });
    expect(nowIn("Nowhere/Else", new Date())).toBeNull();
  });
});
