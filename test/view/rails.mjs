// rails.mjs - a profile as that of a Rails server: 40 frames of gems above each action.

export const TYPES = [["inuse_objects", "count"], ["inuse_space", "bytes"]];
export const KB = 1024;
const GEMS = "/usr/lib/ruby/gems/3.4.0/gems";
export const gem = (name, file, method, line = 10) => [method, `${GEMS}/${name}/lib/${file}.rb`, line];
const app = (file, method, line) => [method, `/srv/shop/app/${file}.rb`, line];
const PUMA = Array.from({ length: 9 }, (_, i) => gem("puma-8.0.2", "puma/server", `Puma::Server#step${i}`));
const MIDDLEWARE = Array.from({ length: 30 }, (_, i) => (i % 3 === 0 ? gem("rack-3.2.8", `rack/m${i}`, `Rack::M${i}#call`) :
    gem("actionpack-8.1.4", `action_dispatch/m${i}`, `ActionDispatch::M${i}#call`)));
const RECORD = Array.from({ length: 7 }, (_, i) => gem("activerecord-8.1.4", "active_record/relation", `ActiveRecord::Relation#step${i}`));
const REQUEST = [["<main>", "/usr/bin/puma", 1], ...PUMA, ...MIDDLEWARE];

// Six lines of the application, each with less than the one before; a gem's own threads; a table of the VM.
export const RAILS = {
    types: TYPES,
    comments: ["directory: /srv/shop", "interval: 524288 bytes", "samples: 900 live of 1000 taken"],
    samples: [
        ...[900, 800, 700, 600, 500, 40].map((kb, i) => ({
            stack: [...REQUEST, app("controllers/carts_controller", "CartsController#show", 5 + i), app(`models/item${i}`, `Item${i}.load`, 20 + i),
                ...(i < 3 ? [...RECORD, gem("activerecord-8.1.4", "active_record/result", `ActiveRecord::Result${i}#build`)] : [["Array#map", "", 0]])],
            values: [10, kb * KB], labels: { class: `Item${i}`, gc_age: [2 ** i, "gcs"] },
        })),
        { stack: [["<main>", "/usr/bin/puma", 1], ...PUMA.slice(0, 4)], values: [1, 2000 * KB], labels: { class: "Thread" } },
        { stack: [...REQUEST, app("controllers/carts_controller", "CartsController#show", 5)], values: [1, 4000 * KB], labels: { class: "[VM] interned strings" } },
    ],
};

// The same an hour before, when there was less of the first two and more of the fourth.
export const EARLIER = {
    ...RAILS,
    samples: RAILS.samples.map((one, i) => ({ ...one, values: one.values.map((value) => Math.round(value * ([0.1, 0.4, 1, 1.5][i] ?? 1))) })),
};
