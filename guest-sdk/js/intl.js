// Intl in a small form: numbers, dates, plurals, and orders in English, with times in UTC. Other languages fall back to English,
// as in a Node.js without their data. It runs after runtime.js.
"use strict";
(() => {
const define = (o, name, value) => Object.defineProperty(o, name, { value, writable: true, configurable: true, enumerable: false });
const locales = l => (l === undefined ? [] : [].concat(l)).map(x => { if (!/^[a-z]{2,8}([-_][a-z\d]{1,8})*$/i.test(x)) throw new RangeError("Incorrect locale information provided"); return String(x).replace(/_/g, "-"); });
class Format {
    constructor(l, o = {}) { locales(l); this.options = { ...o }; define(this, "format", this.format?.bind(this)); }
    resolvedOptions() { return { locale: "en-US", numberingSystem: "latn", ...this.options }; }
    static supportedLocalesOf(l) { return locales(l).filter(x => /^en\b/i.test(x)); }
}
const symbols = { USD: "$", EUR: "€", GBP: "£", JPY: "¥", INR: "₹", CNY: "CN¥", KRW: "₩" };
// rounded returns the digits of a number, halves away from zero, as ICU rounds.
const rounded = (n, most) => { const s = Math.abs(n).toFixed(most); return most && Number(Math.abs(n).toPrecision(15)) !== Math.abs(n) ? s : Number(Math.round(Number(Math.abs(n) + "e" + most)) + "e-" + most).toFixed(most).replace(/^NaN$/, s); };
class NumberFormat extends Format {
    format(v) {
        const { style = "decimal", currency, useGrouping = true } = this.options;
        let n = typeof v === "bigint" ? v : Number(v);
        if (Number.isNaN(n)) return "NaN";
        if (style === "currency" && !currency) throw new TypeError("Currency code is required with currency style.");
        if (style === "percent") n = Number(n) * 100;
        const plain = style === "currency" ? currency.toUpperCase() === "JPY" || currency.toUpperCase() === "KRW" ? [0, 0] : [2, 2] : style === "percent" ? [0, 0] : [0, 3];
        const least = this.options.minimumFractionDigits ?? Math.min(plain[0], this.options.maximumFractionDigits ?? plain[0]), most = this.options.maximumFractionDigits ?? Math.max(plain[1], least);
        if (Number.isFinite(n) && Math.abs(n) >= 1e21) n = BigInt(n);
        let [whole, fraction = ""] = typeof n === "bigint" ? [String(n < 0n ? -n : n)] : Number.isFinite(n) ? rounded(n, most).split(".") : ["∞"];
        while (fraction.length > least && fraction.endsWith("0")) fraction = fraction.slice(0, -1);
        whole = whole.padStart(this.options.minimumIntegerDigits || 1, "0");
        if (useGrouping) whole = whole.replace(/\B(?=(\d{3})+$)/g, ",");
        const sign = n < 0 ? "-" : "", text = whole + (fraction && "." + fraction);
        return sign + (style === "currency" ? (symbols[currency.toUpperCase()] || currency.toUpperCase() + "\u00a0") + text : style === "percent" ? text + "%" : text);
    }
}
const months = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"], days = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const two = n => String(n).padStart(2, "0");
class DateTimeFormat extends Format {
    constructor(l, o = {}) { super(l, o); if (o.timeZone && !/^(utc|gmt|etc\/utc|etc\/gmt)$/i.test(o.timeZone)) throw new RangeError(`the time zone ${o.timeZone} is not known in the sandbox of a provider, which has UTC`); }
    resolvedOptions() { return { ...super.resolvedOptions(), calendar: "gregory", timeZone: "UTC" }; }
    format(v) {
        const d = v === undefined ? new Date() : new Date(v), o = { ...this.options };
        if (isNaN(d)) throw new RangeError("Invalid time value");
        if (o.dateStyle) Object.assign(o, { year: o.dateStyle === "short" ? "2-digit" : "numeric", month: { short: "numeric", medium: "short" }[o.dateStyle] || "long", day: "numeric" }, o.dateStyle === "full" && { weekday: "long" });
        if (o.timeStyle) Object.assign(o, { hour: "numeric", minute: "2-digit" }, o.timeStyle !== "short" && { second: "2-digit" });
        if (!["year", "month", "day", "weekday", "hour", "minute", "second"].some(k => o[k])) Object.assign(o, { year: "numeric", month: "numeric", day: "numeric" });
        const year = o.year && (o.year === "2-digit" ? two(d.getUTCFullYear() % 100) : String(d.getUTCFullYear())), day = o.day && (o.day === "2-digit" ? two(d.getUTCDate()) : String(d.getUTCDate()));
        const named = o.month === "long" || o.month === "short", month = o.month && (named ? months[d.getUTCMonth()].slice(0, o.month === "short" ? 3 : undefined) : o.month === "2-digit" ? two(d.getUTCMonth() + 1) : String(d.getUTCMonth() + 1));
        const weekday = o.weekday && days[d.getUTCDay()].slice(0, o.weekday === "long" ? undefined : 3);
        const date = named ? [[month, day].filter(Boolean).join(" "), year].filter(Boolean).join(day ? ", " : " ") : [month, day, year].filter(Boolean).join("/");
        let h = d.getUTCHours();
        const half = o.hour12 !== false && o.hourCycle !== "h23", after = half && o.hour ? (h < 12 ? " AM" : " PM") : "";
        if (half) h = h % 12 || 12;
        const time = [o.hour && (o.hour === "2-digit" || !half ? two(h) : String(h)), o.minute && (o.hour ? two(d.getUTCMinutes()) : String(d.getUTCMinutes())), o.second && (o.minute ? two(d.getUTCSeconds()) : String(d.getUTCSeconds()))].filter(Boolean).join(":");
        return [[weekday, date].filter(Boolean).join(", "), time && time + after + (o.timeZoneName ? " UTC" : "")].filter(Boolean).join(", ");
    }
}
// Letters come before case, as in a dictionary.
const fold = s => s.normalize("NFD").replace(/[\u0300-\u036f]/g, "");
class Collator extends Format {
    constructor(l, o = {}) { super(l, o); define(this, "compare", (a, b) => this.#order(String(a), String(b))); }
    #order(a, b) {
        const parts = s => this.options.numeric ? s.match(/\d+|\D+/g) || [] : [s], strength = this.options.sensitivity || "variant";
        const plain = (p, q) => { for (let i = 0; i < Math.max(p.length, q.length); i++) { const x = p[i] ?? "", y = q[i] ?? ""; if (/^\d/.test(x) && /^\d/.test(y) && this.options.numeric) { if (Number(x) !== Number(y)) return Number(x) < Number(y) ? -1 : 1; } else if (x !== y) return x < y ? -1 : 1; } return 0; };
        const base = plain(parts(fold(a).toLowerCase()), parts(fold(b).toLowerCase()));
        if (base || strength === "base") return base;
        const accents = strength === "case" ? 0 : plain([a.toLowerCase()], [b.toLowerCase()]);
        if (accents || strength === "accent") return accents;
        return a === b ? 0 : a < b ? 1 : -1; // small letters first
    }
}
class PluralRules extends Format { select(n) { if (this.options.type !== "ordinal") return Number(n) === 1 ? "one" : "other"; const t = n % 10, h = n % 100; return t === 1 && h !== 11 ? "one" : t === 2 && h !== 12 ? "two" : t === 3 && h !== 13 ? "few" : "other"; } }
class ListFormat extends Format { format(l) { const all = [...l], word = this.options.type === "disjunction" ? "or" : "and"; return all.length < 3 ? all.join(` ${word} `) : all.slice(0, -1).join(", ") + `, ${word} ` + all.at(-1); } }
const of = c => new Proxy(c, { apply: (_, self, args) => new c(...args) });
define(globalThis, "Intl", { NumberFormat: of(NumberFormat), DateTimeFormat: of(DateTimeFormat), Collator: of(Collator), PluralRules, ListFormat, getCanonicalLocales: locales, supportedValuesOf: k => k === "timeZone" ? ["UTC"] : [] });
define(Number.prototype, "toLocaleString", function (l, o) { return new NumberFormat(l, o).format(this); });
define(BigInt.prototype, "toLocaleString", function (l, o) { return new NumberFormat(l, o).format(this); });
define(String.prototype, "localeCompare", function (other, l, o) { return new Collator(l, o).compare(this, other); });
const day = { year: "numeric", month: "numeric", day: "numeric" }, clock = { hour: "numeric", minute: "2-digit", second: "2-digit" };
for (const [name, plain] of [["toLocaleString", { ...day, ...clock }], ["toLocaleDateString", day], ["toLocaleTimeString", clock]])
    define(Date.prototype, name, function (l, o = {}) { return new DateTimeFormat(l, Object.keys(o).some(k => k !== "timeZone" && k !== "hour12") ? o : { ...plain, ...o }).format(this); });
})();
