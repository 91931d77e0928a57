#pragma once

int example_library_version();
