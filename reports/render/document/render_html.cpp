#include <openssl/evp.h>

#include <array>
#include <string>
#include <string_view>

#include "reports/render/document/page_json.h"
#include "reports/render/document/render.h"
#include "reports/render/format/escape.h"
#include "reports/render/format/shown.h"
#include "reports/render/page/assets.h"

namespace perfbench::reports {
namespace {

// The name of a script in a policy that allows it: W3C, Content Security Policy Level 3, "hash-source".
std::string hash_source(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr);
  std::array<unsigned char, 2 * EVP_MAX_MD_SIZE> encoded{};
  const int length = EVP_EncodeBlock(encoded.data(), digest.data(), static_cast<int>(size));
  return "'sha256-" + std::string(encoded.begin(), encoded.begin() + length) + "'";
}

// JSON inside a script element. It must not contain a "<" that could end the element or begin a comment in it (HTML
// Standard, 4.12.1.3). A parser gets the same data.
std::string within_script(std::string json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

// Values are exact, because they become parameters of an address. Beside each is its text for people.
nlohmann::ordered_json controls_json(const std::vector<Control>& controls) {
  const auto choice = [](const std::string& value) {
    return nlohmann::ordered_json{{"value", value}, {"text", shown(value)}};
  };
  auto out = nlohmann::ordered_json::array();
  for (const auto& control : controls) {
    auto choices = nlohmann::ordered_json::array();
    for (const auto& value : control.choices) choices.push_back(choice(value));
    out.push_back({{"parameter", control.parameter},
                   {"title", control.title},
                   {"chosen", choice(control.value)},
                   {"choices", std::move(choices)}});
  }
  return out;
}

void put(std::string& page, std::string_view slot, const std::string& text) {
  page.replace(page.find(slot), slot.size(), text);
}

}  // namespace

std::string page_data(const Document& document, const Site& site) {
  auto data = page_json(document);
  if (!site.places.empty()) {
    if (site.writable) data["actions"] = document.actions;
    if (!document.controls.empty()) data["controls"] = controls_json(document.controls);
    if (document.to_come) data["to_come"] = true;
    if (document.lasting) data["lasting"] = true;
    data["places"] = nlohmann::ordered_json::array();
    for (const auto& place : site.places) data["places"].push_back({{"text", place.text}, {"path", place.path}});
  }
  return json_text(data, -1);
}

Page page_of(const Document& document, const Site& site) {
  const auto style = std::string(colour_style()) + std::string(chart_style()) + std::string(page_style());
  // A function around the script keeps its names private.
  const auto script = "(() => {\n\"use strict\";\n" + std::string(page_script()) + "})();\n";
  Page page{.html = std::string(page_template()),
            .policy = "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; style-src " +
                      hash_source(style) + "; script-src " + hash_source(script) +
                      (site.places.empty() ? "" : "; connect-src 'self'")};
  put(page.html, "@POLICY@", page.policy);
  put(page.html, "@STYLE@", style);
  put(page.html, "@SCRIPT@", script);
  // Comes last, because text from outside may contain the names of slots.
  put(page.html, "@DOCUMENT@", within_script(page_data(document, site)));
  return page;
}

std::string render_html(const Document& document) {
  return page_of(document, {}).html;
}

}  // namespace perfbench::reports
