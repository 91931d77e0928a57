#include "harness/cli/shell/man_page.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <vector>

#include "harness/cli/shell/command_tree.h"

namespace perfbench::harness {
namespace {

// A line of text without requests or escapes, in which a hyphen can be copied.
std::string troff(const std::string& line) {
  std::string out = line.starts_with('.') || line.starts_with('\'') ? "\\&" : "";
  for (const char c : line) {
    if (c == '\\') {
      out += "\\e";
    } else {
      if (c == '-') out += '\\';
      out += c;
    }
  }
  return out;
}

std::string bold(const std::string& text) {
  return "\\fB" + troff(text) + "\\fR";
}

std::string italic(const std::string& text) {
  return "\\fI" + troff(text) + "\\fR";
}

std::string section(const std::string& title, const std::string& body) {
  return body.empty() ? "" : ".SH \"" + title + "\"\n" + body;
}

std::string paragraph(const std::vector<std::string>& lines) {
  std::string out;
  for (const auto& line : lines) out += troff(line) + "\n";
  return out;
}

std::string as_it_stands(const std::vector<std::string>& lines) {
  return lines.empty() ? "" : ".nf\n.RS\n" + paragraph(lines) + ".RE\n.fi\n";
}

std::string synopsis(const CLI::App& command) {
  auto out = bold(whole_command(command)) + (named_options_of(command).empty() ? "" : " [OPTIONS]");
  for (const auto* positional : positionals_of(command)) {
    const auto name = italic(positional->get_name(true)) + (may_be_repeated(*positional) ? "..." : "");
    out += positional->get_required() ? " " + name : " [" + name + "]";
  }
  if (!subcommands_of(command).empty()) out += " " + italic("COMMAND");
  return out + "\n";
}

// "Default: perf.db. Environment: PERFBENCH_DB. Goes with --ab alone."
std::string facts(const CLI::Option& option) {
  std::string out;
  if (takes_value(option) && !option.get_default_str().empty()) out += " Default: " + option.get_default_str() + ".";
  if (!option.get_envname().empty()) out += " Environment: " + option.get_envname() + ".";
  if (option.get_required()) out += " Required.";
  for (const auto* needed : option.get_needs()) out += " Goes with " + needed->get_name() + " alone.";
  for (const auto* other : option.get_excludes()) out += " Cannot go with " + other->get_name() + ".";
  return out.empty() ? "" : troff(out.substr(1)) + "\n";
}

// Ends the text, so that another sentence can follow.
std::string sentence(const std::string& text) {
  return troff(text) + (text.empty() || text.ends_with('.') || text.ends_with('?') ? "\n" : ".\n");
}

std::string entry(const std::string& tag, const CLI::Option& option) {
  const auto type = option.get_type_name();
  const auto value = takes_value(option) && !option.get_positional() && !type.empty() ? " " + italic(type) : "";
  return ".TP\n" + tag + value + "\n" + sentence(option.get_description()) + facts(option);
}

std::string options(const CLI::App& command) {
  std::vector<std::string> groups;
  for (const auto* option : named_options_of(command)) {
    if (std::find(groups.begin(), groups.end(), option->get_group()) == groups.end()) {
      groups.push_back(option->get_group());
    }
  }
  std::string out;
  for (const auto& group : groups) {
    if (groups.size() > 1) out += ".SS \"" + troff(group) + "\"\n";
    for (const auto* option : named_options_of(command)) {
      if (option->get_group() != group) continue;
      std::string names;
      for (const auto& name : names_of(*option)) names += (names.empty() ? "" : ", ") + bold(name);
      out += entry(names, *option);
    }
  }
  return out;
}

std::string arguments(const CLI::App& command) {
  std::string out;
  for (const auto* positional : positionals_of(command)) out += entry(italic(positional->get_name(true)), *positional);
  return out;
}

std::string reference(const CLI::App& command) {
  return bold(man_page_name(command)) + "(1)";
}

// Under the headings of their groups, if there are several.
std::string commands(const CLI::App& command) {
  const auto below = subcommands_of(command);
  const bool grouped = std::any_of(below.begin(), below.end(),
                                   [&](const auto* one) { return one->get_group() != below[0]->get_group(); });
  std::string out;
  std::string heading;
  for (const auto* one : below) {
    if (grouped && one->get_group() != heading) out += ".SS \"" + troff(heading = one->get_group()) + "\"\n";
    out += ".TP\n" + reference(*one) + "\n" + troff(one->get_description()) + "\n";
  }
  return out;
}

std::string title(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::toupper(c); });
  return name;
}

}  // namespace

std::string man_page_name(const CLI::App& command) {
  auto name = whole_command(command);
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::string man_page(const CLI::App& command, const std::string& version) {
  const auto name = man_page_name(command);
  const auto footer = footer_of(command);
  const auto* parent = command.get_parent();
  return fmt::format(".TH \"{}\" 1 \"\" \"perfbench {}\" \"perfbench\"\n.ad l\n", troff(title(name)), troff(version)) +
         section("NAME", troff(name) + " \\- " + troff(command.get_description()) + "\n") +
         section("SYNOPSIS", synopsis(command)) + section("DESCRIPTION", paragraph(footer.description)) +
         section("COMMANDS", commands(command)) + section("ARGUMENTS", arguments(command)) +
         section("OPTIONS", options(command)) + section("EXAMPLES", as_it_stands(footer.examples)) +
         section("NOTES", paragraph(footer.notes)) + section("EXIT STATUS", paragraph(footer.exit_codes)) +
         section("SEE ALSO", parent == nullptr ? "" : reference(*parent) + "\n");
}

}  // namespace perfbench::harness
